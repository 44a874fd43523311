"""Three nodes on loopback, each broker and controller, that reach each other, and are reached by clients, through fault-proxy."""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import cluster_test  # noqa: E402
import ports  # noqa: E402
import wire  # noqa: E402

PROGRAMS = Path(os.environ.get("CHAOS_PROGRAMS", wire.ROOT / "build/release/tests/chaos"))
CLIENTS = 0  # the place of all clients, for the proxy


class Proxy:
    """The links between places: CLIENTS, and the nodes by their ids."""

    def __init__(self, seed):
        self.process = subprocess.Popen([PROGRAMS / "fault-proxy", str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, start_new_session=True)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        answer = self.process.stdout.readline().strip()
        assert answer == "ok", f"fault-proxy, {' '.join(map(str, words))}: {answer or 'it ended'}"

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Node(cluster_test.Node):
    """Its ports: clients, controller, admin, replication; then those at the proxy: clients, controller, replication."""
    kind = "millrace"
    clean_exit = 0

    def __init__(self, cluster, number):
        super().__init__(cluster, number, "broker,controller")
        self.replication_port, self.client_proxy, self.controller_proxy, self.replication_proxy = cluster.all_ports(number)[3:]
        self.is_stopped = False

    def settings(self):
        voters = ",".join(f"{i}@127.0.0.1:{self.cluster.all_ports(i)[5]}" for i in self.cluster.voters)
        host = "127.0.0.1"
        return {**super().settings(), "controller.quorum.voters": voters,
                "listeners": f"CLIENTS://{host}:{self.port},REPLICATION://{host}:{self.replication_port},"
                             f"CONTROLLER://{host}:{self.controller_port}",
                "advertised.listeners": f"CLIENTS://{host}:{self.client_proxy},REPLICATION://{host}:{self.replication_proxy},"
                                        f"CONTROLLER://{host}:{self.controller_proxy}",
                "listener.security.protocol.map": "CLIENTS:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "inter.broker.listener.name": "REPLICATION", **self.cluster.settings}

    def start(self):
        super().start()
        self.admit()
        return self

    def admit(self):
        self.cluster.proxy.tell("pid", self.id, self.process.pid)
        self.cluster.proxy.tell("up", self.id)

    def kill(self):
        """With the machine alive: connections end, and the ports refuse."""
        self.process.kill()
        self.cluster.proxy.tell("down", self.id)
        self.process.wait()
        self.process = None
        self.is_stopped = False

    def stop(self, timeout=60):
        code = super().stop(timeout)
        self.cluster.proxy.tell("down", self.id)
        return code

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def partitions(self, topic):
        """{partition: (leader, leader epoch, in-sync replicas)} as this node tells; empty: it does not know the topic."""
        with self.connect() as connection:
            answer = connection.call(wire.METADATA, 7, wire.array([wire.text(topic)]) + b"\0")

            def numbers():
                return answer.array(lambda: answer.take(">i"))

            def partition():
                error, index, leader, epoch = answer.take(">hiii")
                numbers()
                in_sync = numbers()
                numbers()
                return index, (leader if error == 0 else -1, epoch, in_sync)
            answer.take(">i")
            answer.array(lambda: (answer.take(">i"), answer.text(), answer.take(">i"), answer.text()))
            answer.text(), answer.take(">i")
            rows = answer.array(lambda: (answer.take(">h"), answer.text(), answer.take(">b"), answer.array(partition)))
            return dict(rows[0][3])


class KafkaNode(Node):
    """Apache Kafka in the place of a node."""
    kind = "kafka"
    clean_exit = 143  # of a JVM that was told to end

    def start(self):
        config, java = self.folder / "server.properties", ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                                                           f"{self.cluster.kafka_libs}/*"]
        if not config.exists():
            rows = {key: value for key, value in self.settings().items() if not key.startswith("millrace.")}
            config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
            subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", self.cluster.id, "-c", config], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*java, "kafka.Kafka", config], stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
        self.admit()
        return self

    def is_ready(self):
        assert self.process.poll() is None, f"node {self.id} ended with {self.process.returncode}"
        return self.id in self.brokers()


class Cluster:
    def __init__(self, seed, settings, count=3, kafka_count=0, kafka_libs=None):
        self.base = int(os.environ.get("PORT", 0)) or ports.reserve(10 * count)
        self.id = wire.new_cluster_id()
        self.directory = Path(tempfile.mkdtemp(prefix="millrace-chaos-"))
        self.settings = settings
        self.voters = list(range(1, count + 1))
        self.proxy = Proxy(seed)
        for i in self.voters:
            own = self.all_ports(i)
            for target, port in zip((own[0], own[1], own[3]), own[4:]):
                self.proxy.tell("listen", port, target, i)
        self.kafka_libs = kafka_libs
        self.nodes = [(KafkaNode if i <= kafka_count else Node)(self, i) for i in self.voters]
        self.bootstrap = ",".join(f"127.0.0.1:{node.client_proxy}" for node in self.nodes)

    def all_ports(self, number):
        return tuple(self.base + 10 * (number - 1) + i for i in range(7))

    def ports(self, number):
        return self.all_ports(number)[:3]

    def node(self, number):
        return self.nodes[number - 1]

    def live(self):
        return [node for node in self.nodes if node.process and not node.is_stopped]

    def start(self):
        for node in self.nodes:
            node.start()

    def heal(self):
        places = [CLIENTS] + self.voters
        for one in places:
            for other in places:
                if one != other:
                    self.proxy.tell("set", one, other, "pass")
        for node in self.nodes:
            if node.is_stopped:
                node.resume()
            if not node.process:
                node.start()

    def ready(self, seconds=60):
        for node in self.nodes:
            cluster_test.until(seconds, f"node {node.id} is ready", node.is_ready)

    def whole(self, topics, seconds):
        """Waits until all nodes agree on the leaders of these topics, every replica is in sync and every leader knows its mark.
        {topic: {partition: (leader, leader epoch)}}"""
        def ask():
            out = {}
            for topic in topics:
                views = [node.partitions(topic) for node in self.nodes]
                if any(view != views[0] for view in views) or not views[0]:
                    return None
                for leader, _, in_sync in views[0].values():
                    if leader < 0 or len(in_sync) != len(self.nodes):
                        return None
                out[topic] = {p: row[:2] for p, row in views[0].items()}
                if not self.marks_are_known(topic, out[topic]):
                    return None
            return out
        return cluster_test.until(seconds, "all replicas are in sync", ask)

    def marks_are_known(self, topic, leaders):
        for node in self.nodes:
            mine = [p for p, (leader, _) in leaders.items() if leader == node.id]
            with node.connect() as connection:
                if any(error for error, _ in connection.offsets(topic, mine).values()):
                    return False
        return True

    def active_controller(self, seconds=30):
        return self.node(cluster_test.until(seconds, "an active controller", lambda: self.live()[0].controller()))

    def create(self, topic, partitions):
        def ask():
            with self.nodes[0].connect(60) as connection:
                return connection.create(topic, partitions, replicas=len(self.nodes))[topic] in (0, 36)
        cluster_test.until(30, f"topic {topic} is made", ask)

    def ended(self):
        """A node that has ended by itself."""
        for node in self.nodes:
            if node.process and node.process.poll() is not None:
                return f"node {node.id} ended with {node.process.returncode}"
        return None

    def close(self, keep):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.process.kill()
                node.process.wait()
        self.proxy.close()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)


def nanos():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class DriverHistory:
    """The driver's rows of history_file.h."""

    def __init__(self, path, client):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<8sII", b"MRHIST01", client, 0))

    def calm(self, is_end, leaders, time_nanos):
        for partition, (_, epoch) in leaders.items():
            self.file.write(struct.pack("<BBHIiIq", 7, is_end, 0, partition, epoch, 0, time_nanos))

    def fault(self, number, begin, settled):
        self.file.write(struct.pack("<BBHIqq", 8, 0, 0, number, begin, settled))

    def close(self):
        self.file.close()
