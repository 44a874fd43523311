"""The part of bench/run that moves leaders as planned, and takes the leader of a partition away in silence: it is stopped, or its
packets are lost. Three nodes behind the proxy of tests/chaos, which can hold what they say."""
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/chaos"), str(ROOT / "tests/e2e")]
from cluster import CLIENTS, Cluster  # noqa: E402
from failover_test import create_on  # noqa: E402
from wire import batch  # noqa: E402

STALL_MS_MAX = 100
CALM_SECONDS = 5


class Writer(threading.Thread):
    """Writes a record at a time with acks=all, past the proxy, and asks for the leader anew, at once, when one was refused: what it
    waits for is the cluster alone."""

    def __init__(self, cluster, topic):
        super().__init__()
        self.cluster, self.topic, self.is_ending = cluster, topic, False
        self.acknowledged = []

    def leader(self):
        for node in self.cluster.live():
            try:
                with node.connect(1) as connection:
                    _, leader = connection.metadata([self.topic])[self.topic][1][0]
                    if leader >= 0:
                        return self.cluster.node(leader).connect(30)
            except OSError:
                pass
        return None

    def run(self):
        connection = None
        while not self.is_ending:
            try:
                connection = connection or self.leader()
                if connection and connection.produce(self.topic, {0: batch([b"x"])})[0][0] == 0:
                    self.acknowledged.append(time.time())
                    continue
            except OSError:
                pass
            connection = None

    def longest_ms(self, since):
        times = [t for t in self.acknowledged if t > since - 1]
        return 1000 * max(b - a for a, b in zip(times, times[1:]))


def gap_ms(options, cluster, topic, victim, seconds, act):
    """The longest gap in acknowledgements around `act`, of librdkafka and of a writer that does not wait for anything itself."""
    load = subprocess.Popen([options.tools / "load/out/rdload", "gap", f"b={cluster.bootstrap}", f"t={topic}", "rate=1000", "size=1024",
                             "acks=all", f"secs={CALM_SECONDS + seconds}"], stdout=subprocess.PIPE, text=True)
    writer = Writer(cluster, topic)
    writer.start()
    time.sleep(CALM_SECONDS)
    begin = time.time()
    act(victim)
    answer = json.loads(load.communicate(timeout=120)[0])
    writer.is_ending = True
    cluster.heal()
    writer.join()
    cluster.whole([topic], 120)
    gaps = [gap["ms"] for gap in answer["gaps"] if gap["at"] > begin - answer["start"] - 1]
    return max(gaps, default=0), writer.longest_ms(begin)


def create(cluster, topic, leader):
    others = [node.id for node in cluster.nodes if node is not leader]
    create_on(cluster.node(others[0]), topic, {0: [leader.id, *others]}, min_insync_replicas=2)
    cluster.whole([topic], 60)


def lose_packets(cluster, victim):
    for place in [CLIENTS] + [node.id for node in cluster.nodes if node is not victim]:
        cluster.proxy.tell("set", place, victim.id, "hold")
        cluster.proxy.tell("set", victim.id, place, "hold")


def measure(options, kafka_count):
    cluster = Cluster(1, {"auto.leader.rebalance.enable": "false", "offsets.topic.replication.factor": 3}, kafka_count=kafka_count,
                      kafka_libs=options.tools / "kafka/libs")
    found = {"term": [], "elect": [], "stop": [], "cut": []}
    try:
        cluster.start()
        cluster.ready(120)
        for run in range(options.runs):
            victim = next(node for node in cluster.nodes if node is not cluster.active_controller())

            def elect(_):
                binary = os.environ.get("MILLRACE", ROOT / "build/release/millrace")
                subprocess.run([binary, "cluster", "elect-leaders", "-b", cluster.bootstrap, "-t", f"elect-{run}"], check=True,
                               stdout=subprocess.DEVNULL)

            create(cluster, f"elect-{run}", victim)  # is led by another once this one has been away, and is given back then
            for kind, seconds, act in [("term", 8, lambda node: node.stop()), ("elect", 5, elect), ("stop", 25, lambda node: node.pause()),
                                       ("cut", 25, lambda node: lose_packets(cluster, node))]:
                topic = f"{kind}-{run}"
                if kind != "elect":
                    create(cluster, topic, victim)
                found[kind].append(gap_ms(options, cluster, topic, victim, seconds, act))
    finally:
        cluster.close(keep=False)
    return found


def moves(options, report, spread):
    theirs, ours = measure(options, 3), measure(options, 0)
    rows = []
    for key, what, limit in [("term", "a leader is told to end", STALL_MS_MAX), ("elect", "a partition is given back to its preferred leader", STALL_MS_MAX),
                             ("stop", "SIGSTOP of a leader", None), ("cut", "all packets from and to a leader are lost", None)]:
        columns = [spread([pair[i] for pair in found[key]]) if limit or i == 0 else "" for found in (theirs, ours) for i in (0, 1)]
        met = report.verdict(max(own for _, own in ours[key]) <= limit) if limit else ""
        waited_for = "the session, 9 s" + (", and requests of librdkafka, 10 s each" if key == "stop" else "")
        rows.append([what, *columns, str(limit) if limit else waited_for, met])
    report.table("Moves and silence", ["what", "Kafka ms, librdkafka", "Kafka ms", "ours ms, librdkafka", "ours ms", "at most", "met"], rows,
                 "Longest gap in acknowledgements, minimum / median / maximum: librdkafka at 1,000 records/s, which waits by itself before it asks "
                 "again, and a writer that does not; acks=all, replication factor 3, default timeouts. The limit is of the second.")
