"""The parts of bench/run that take three nodes: failover, CPU of replication, and ten thousand partitions."""
import contextlib
import datetime
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/e2e"))
from wire import Connection, batch  # noqa: E402

GAP_MS_MAX = 1500
FAILOVERS = [("failover-leader", "a partition's leader"), ("failover-controller", "the active controller"),
             ("failover-both", "a node that is both")]
CLUSTER_LOADS = [("cluster-all-16k", 1 / 3), ("cluster-all-1m", 1 / 3)]
TOPICS, PARTITIONS = [f"many-{i}" for i in range(10)], 1000
# How long memory must have been free before the host takes it back, on machines whose kernel has this setting. Nodes in turn
# delete and write gigabytes: without this, whoever writes next pays for the first touch of every page.
REPORTING = Path("/sys/module/page_reporting/parameters/min_free_ms")


def measured(options, port, names, **extra):
    """The rows of measure.py, of both targets in turn."""
    out = options.run_folder / "measure.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, options.tools / "measure.py", "--target", f"kafka=@{options.tools}/kafka/kafka.sh",
                    "--target", f"ours=@{options.ours}", "--runs", str(options.runs), "--port-base", str(port), "--warm", "0",
                    "--json", str(out), *names], check=True, cwd=options.tools, env={**os.environ, **extra})
    rows = [row for row in json.loads(out.read_text())["rows"] if "error" not in row]
    return lambda name, target, field: [row[field] for row in rows if row["workload"] == name and row["target"] == target]


def failover(options, report, spread, port):
    found = measured(options, port, [name for name, _ in FAILOVERS])
    rows = []
    for name, what in FAILOVERS:
        ours, theirs = found(name, "ours", "gap_ms"), found(name, "kafka", "gap_ms")
        rows.append([f"kill -9 of {what}", spread(theirs), spread(ours), f"{GAP_MS_MAX:,}",
                     report.verdict(max(ours) <= GAP_MS_MAX)])
    report.table("Failover", ["what", "Kafka ms", "ours ms", "at most", "met"], rows,
                 "Longest gap in acknowledgements, minimum / median / maximum of the runs of `measure.py`: librdkafka, 1,000 records/s, "
                 "acks=all, replication factor 3, default timeouts, the host alive.")


@contextlib.contextmanager
def memory_stays(gb=12):
    """The host lets us keep free memory for as long as it lasts, and has given us enough."""
    before = REPORTING.read_text() if REPORTING.exists() else None
    if before is not None:
        REPORTING.write_text("300000")  # the most that it takes
    touch = f"m = bytearray({gb} << 30)\nfor i in range(0, len(m), 4096): m[i] = 1"
    subprocess.run([sys.executable, "-c", touch], check=True)
    try:
        yield
    finally:
        if before is not None:
            REPORTING.write_text(before)


def replication(options, report, spread, port):
    with memory_stays():
        found = measured(options, port, [name for name, _ in CLUSTER_LOADS], EXTRA="log.segment.delete.delay.ms=1000")
    rows = []
    for name, limit in CLUSTER_LOADS:
        ours, theirs = found(name, "ours", "cpu_gb"), found(name, "kafka", "cpu_gb")
        ratio = statistics.median(ours) / statistics.median(theirs)
        rows.append([f"`{name}`", spread(theirs), spread(ours), f"{ratio:.2f}", f"{limit:.2f}", report.verdict(ratio <= limit)])
    report.table("Replication", ["workload", "Kafka CPU-s/GB", "ours CPU-s/GB", "ratio", "at most", "met"], rows,
                 "All three brokers together, acks=all, 1 KiB records; minimum / median / maximum of `measure.py` in turns. Memory that was "
                 "free stayed with this machine meanwhile.")


class Cluster:
    def __init__(self, launcher, folder, port):
        self.launcher, self.folder, self.port = launcher, folder, port
        self.env = dict(os.environ, NAME=folder.name, PORT_BASE=str(port), DATA=str(folder), TLS="0")

    def call(self, *verb):
        text = subprocess.run([self.launcher, *map(str, verb)], env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout
        if text.strip():
            self.nodes = {int(node): about["pid"] for node, about in json.loads(text.strip().splitlines()[-1])["nodes"].items()}

    def __enter__(self):
        self.call("start", 3)
        return self

    def __exit__(self, *_):
        self.call("wipe")

    def connect(self, node):
        return Connection(("127.0.0.1", self.port + 10 * (node - 1)), 180)

    def resident_mb(self, node):
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.nodes[node]}/status").read_text()).group(1)) / 1024

    def led_by(self, asked):
        with self.connect(asked) as connection:
            answer = connection.metadata(TOPICS)
        led = {node: set() for node in self.nodes}
        for topic, (_, partitions) in answer.items():
            for partition, (_, leader) in partitions.items():
                led.setdefault(leader, set()).add((topic, partition))
        return led

    def wait_in_sync(self, asked):
        deadline = time.time() + 300
        with self.connect(asked) as connection:
            for topic in TOPICS:
                while sorted(connection.in_sync(topic).values()) != [3] * PARTITIONS:
                    if time.time() > deadline:
                        raise SystemExit(f"{topic} was not in sync within 300 s")
                    time.sleep(0.05)

    def write_to(self, wanted_of_node, seconds):
        """When each partition first acknowledged a record with acks=all, the nodes being asked side by side."""
        acknowledged = {}

        def ask(node, wanted):
            until, left = time.time() + seconds, set(wanted)
            with self.connect(node) as connection:
                while left and time.time() < until:
                    for topic in TOPICS:
                        partitions = [partition for name, partition in left if name == topic]
                        for first in range(0, len(partitions), 500):
                            answer = connection.produce(topic, {p: batch([b"x"]) for p in partitions[first:first + 500]}, timeout_ms=20000)
                            for partition, (error, _) in answer.items():
                                if error == 0:
                                    acknowledged.setdefault((topic, partition), time.time())
                    left -= acknowledged.keys()
                    time.sleep(0.005 if left else 0)

        askers = [threading.Thread(target=ask, args=one) for one in wanted_of_node.items()]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        return acknowledged


def make_and_write(cluster):
    begin = time.time()
    with cluster.connect(1) as connection:
        for topic in TOPICS:
            made = connection.create(topic, PARTITIONS, {"min.insync.replicas": 2}, replicas=3)
            if made != {topic: 0}:
                raise SystemExit(f"create topics: {made}")
    created = time.time() - begin
    for node in cluster.nodes:
        cluster.wait_in_sync(node)
    acknowledged = cluster.write_to(cluster.led_by(1), 120)
    if len(acknowledged) != len(TOPICS) * PARTITIONS:
        raise SystemExit(f"only {len(acknowledged)} partitions acknowledge")
    return created, time.time() - begin


def kill_leader(cluster, controller):
    """Milliseconds from the kill to the fencing in the active controller's log, and from there to the last new leader's acknowledgement."""
    victim = next(node for node in cluster.nodes if node != controller)
    rest = [node for node in cluster.nodes if node != victim]
    wanted = cluster.led_by(controller)[victim]
    log = cluster.folder / f"{controller}/server.log"
    size = log.stat().st_size
    begin = time.time()
    os.kill(cluster.nodes[victim], signal.SIGKILL)
    acknowledged = cluster.write_to({node: wanted for node in rest}, 40)
    if acknowledged.keys() != wanted:
        raise SystemExit(f"{len(wanted) - len(acknowledged)} partitions found no new leader in 40 s")
    with log.open() as file:
        file.seek(size)
        line = next(line for line in file if "records fence it" in line)
    stamp = datetime.datetime.strptime(" ".join(line.split()[:2]), "%Y-%m-%d %H:%M:%S.%f").timestamp()
    return (stamp - begin) * 1000, (max(acknowledged.values()) - stamp) * 1000, len(wanted)


def partitions(options, report, port, kwire):
    with Cluster(str(options.tools / "kafka/kafka.sh"), options.run_folder / "kafka", port + 2000) as theirs:
        their_times = make_and_write(theirs)
    with Cluster(options.ours, options.run_folder / "many", port) as ours:
        times = make_and_write(ours)
        memory = max(map(ours.resident_mb, ours.nodes))
        time.sleep(12)
        controller = kwire.Conn(f"127.0.0.1:{port}").quorum_leader()
        fenced, to_last, led = kill_leader(ours, controller)
    report.table("Ten thousand partitions", ["what", "Kafka", "ours", "at most", "met"], [
        ["created, s", f"{their_times[0]:.1f}", f"{times[0]:.1f}", "180, Kafka's", report.verdict(times[0] <= min(180, their_times[0]))],
        ["created and all acknowledge, s", f"{their_times[1]:.1f}", f"{times[1]:.1f}", "180, Kafka's",
         report.verdict(times[1] <= min(180, their_times[1]))],
        ["resident memory of a node, MB", "", f"{memory:.0f}", "150", report.verdict(memory < 150)],
        [f"kill -9 of a node that leads {led:,}: fenced after, ms", "", f"{fenced:.0f}", "", ""],
        ["from fencing until every new leader has acknowledged, ms", "", f"{to_last:,.0f}", "2,000", report.verdict(to_last < 2000)]],
        "Ten topics of 1,000 partitions, replication factor 3, min.insync.replicas 2, three nodes and the clients on this machine; once.")
