#!/usr/bin/env python3
"""Proves that several `millrace serve` processes form one cluster: three nodes that are broker and controller, and one that
is a broker alone; requests for the controller work at every node; kill -9 of the active controller and of a broker, and a
restart, leave what was acknowledged. Needs only Python and the binary in $MILLRACE.

    cluster_test.py [TEST...]     PORT=first of the ports (random ones)
"""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import ports
import wire
from wire import Connection

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, DESCRIBE_QUORUM = 8, 9, 10, 55
# UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, REPLICA_NOT_AVAILABLE,
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, NOT_ENOUGH_REPLICAS (and after the append),
# KAFKA_STORAGE_ERROR
NOT_YET = {3, 5, 6, 7, 9, 14, 15, 16, 19, 20, 56}


def until(seconds, what, question):
    """The first true answer; connections may fail meanwhile."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = question()
            if last:
                return last
        except (OSError, struct.error) as error:
            last = error
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s; last: {last!r}")


class Node:
    def __init__(self, cluster, number, roles):
        self.cluster, self.id, self.roles = cluster, number, roles
        self.port, self.controller_port, self.admin_port = cluster.ports(number)
        self.folder = cluster.directory / f"node-{number}"
        self.folder.mkdir()
        self.process = None
        self.prefix, self.own = [], {}  # words before the command; settings that the others have not

    def settings(self):
        controllers = ",".join(f"{i}@127.0.0.1:{self.cluster.ports(i)[1]}" for i in self.cluster.voters)
        listeners = [f"PLAINTEXT://127.0.0.1:{self.port}"] if "broker" in self.roles else []
        if "controller" in self.roles:
            listeners.append(f"CONTROLLER://127.0.0.1:{self.controller_port}")
        quorum = {"controller.quorum.voters": controllers}
        if len(self.cluster.voters) == 1:  # it forms its quorum itself, and is found by the others
            first = f"127.0.0.1:{self.cluster.ports(1)[1]}"
            quorum = {} if "controller" in self.roles else {"controller.quorum.bootstrap.servers": first}
        return {"process.roles": self.roles, "node.id": self.id, **quorum,
                "controller.listener.names": "CONTROLLER", "listeners": ",".join(listeners), "log.dirs": self.folder / "data",
                "millrace.cluster.id": self.cluster.id, "millrace.admin.listener": f"127.0.0.1:{self.admin_port}",
                "millrace.space.low.bytes": 1 << 20, **self.cluster.settings, **self.own}

    def start(self):
        command = [*self.prefix, os.environ.get("MILLRACE", str(wire.ROOT / "build/release/millrace")), "serve"]
        command += [x for key, value in self.settings().items() for x in ("-o", f"{key}={value}")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self, timeout=30):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        self.process = None
        return code

    def connect(self, timeout=10):
        return Connection(("127.0.0.1", self.port), timeout)

    def is_ready(self):
        assert self.process.poll() is None, f"node {self.id} ended with {self.process.returncode}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/ready", timeout=5) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def brokers(self):
        """{id: port}, as this node tells clients."""
        with self.connect() as connection:
            connection.metadata([])
            return {row[0]: row[2] for row in connection.brokers}

    def controller(self):
        """The active controller, as this node finds out."""
        with self.connect() as connection:
            topic = wire.text("__cluster_metadata")[2:]
            body = b"\x02" + bytes([len(topic) + 1]) + topic + b"\x02" + struct.pack(">i", 0) + b"\0\0\0"
            header = struct.pack(">hhi", DESCRIBE_QUORUM, 0, 1) + wire.text("t") + b"\0"
            connection.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            data = connection.exactly(struct.unpack(">i", connection.exactly(4))[0])
            at = 5  # correlation id, tags
            assert struct.unpack_from(">h", data, at)[0] == 0
            at += 2 + 1 + 1 + len(topic) + 1  # error, one topic, its name, one partition
            _, error, leader = struct.unpack_from(">ihi", data, at)
            return leader if error == 0 else None


class Cluster:
    def __init__(self, controllers=3, brokers=0, **settings):
        self.base = int(os.environ.get("PORT", 0)) or ports.reserve(10 * (controllers + brokers))
        self.id = wire.new_cluster_id()
        self.directory = Path(tempfile.mkdtemp(prefix="millrace-cluster-"))
        self.settings = {key.replace("_", "."): value for key, value in settings.items()}
        self.voters = list(range(1, controllers + 1))
        self.nodes = [Node(self, i, "broker,controller") for i in self.voters]
        self.nodes += [Node(self, controllers + 1 + i, "broker") for i in range(brokers)]

    def ports(self, number):
        return tuple(self.base + 10 * (number - 1) + i for i in range(3))

    def __enter__(self):
        try:
            for node in self.nodes:
                node.start()
            self.settled()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *_):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.kill()
        if kind:
            for node in self.nodes:
                print(f"--- node {node.id}", *(node.folder / "log").read_text(errors="replace").splitlines()[-30:], sep="\n",
                      file=sys.stderr)
        shutil.rmtree(self.directory, ignore_errors=True)

    def live(self):
        return [node for node in self.nodes if node.process]

    def node(self, number):
        return next(node for node in self.nodes if node.id == number)

    def settled(self, seconds=30):
        """Every live node serves, and tells of all live nodes and no other."""
        wanted = {node.id: node.port for node in self.live()}
        for node in self.live():
            until(seconds, f"node {node.id} is ready", node.is_ready)
        for node in self.live():
            until(seconds, f"node {node.id} knows {wanted}", lambda node=node: node.brokers() == wanted)

    def active_controller(self, seconds=20):
        return self.node(until(seconds, "an active controller", lambda: self.live()[0].controller()))

    def leaders(self, topic, seconds=20):
        """{partition: node}, once every partition has a leader that is alive and says so."""
        def ask():
            with self.live()[0].connect() as connection:
                error, partitions = connection.metadata([topic])[topic]
                found = {p: self.node(leader) for p, (e, leader) in partitions.items() if e == 0 and leader >= 0}
                return found if error == 0 and len(found) == len(partitions) and found else None
        return until(seconds, f"leaders of {topic}", ask)

    def create(self, at, topic, partitions, replicas=1, configs=()):
        with at.connect(60) as connection:
            assert connection.create(topic, partitions, configs, replicas=replicas) == {topic: 0}

    def in_sync(self, topic, count, seconds=30):
        """Every partition has so many replicas in sync."""
        def ask():
            with self.live()[0].connect() as connection:
                return set(connection.in_sync(topic).values()) == {count}
        until(seconds, f"{count} replicas in sync of {topic}", ask)

    def coordinator(self, group, seconds=30):
        def ask():
            with self.live()[0].connect() as connection:
                answer = connection.call(FIND_COORDINATOR, 1, wire.text(group) + b"\0")
                _, error, _, node = answer.take(">i"), answer.take(">h"), answer.text(), answer.take(">i")
                return self.node(node) if error == 0 else None
        return until(seconds, f"the coordinator of {group}", ask)

    def commit(self, group, topic, offset, seconds=30):
        def ask():
            with self.coordinator(group).connect() as connection:
                body = wire.text(group) + struct.pack(">i", -1) + wire.text("") + struct.pack(">q", -1)
                body += wire.array([wire.text(topic) + wire.array([struct.pack(">iq", 0, offset) + wire.text("")])])
                answer = connection.call(OFFSET_COMMIT, 2, body)
                error = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ih"))))[0][1][0][1]
                assert error == 0 or error in NOT_YET, f"commit of {group}: error {error}"
                return error == 0
        until(seconds, f"commit of {group}", ask)

    def committed(self, group, topic, seconds=30):
        def ask():
            with self.coordinator(group).connect() as connection:
                body = wire.text(group) + wire.array([wire.text(topic) + wire.array([struct.pack(">i", 0)])])
                answer = connection.call(OFFSET_FETCH, 1, body)
                row = answer.array(lambda: (answer.text(), answer.array(
                    lambda: (answer.take(">iq"), answer.text(), answer.take(">h")))))[0][1][0]
                assert row[2] == 0 or row[2] in NOT_YET, f"offsets of {group}: error {row[2]}"
                return (row[0][1],) if row[2] == 0 else None
        return until(seconds, f"offsets of {group}", ask)[0]

    def produce(self, topic, partition, value, seconds=20):
        def send():
            node = self.leaders(topic)[partition]
            with node.connect() as connection:
                error, offset = connection.produce(topic, {partition: wire.batch([value])})[partition]
                assert error == 0 or error in NOT_YET, f"produce to {topic}-{partition}: error {error}"
                return None if error else (offset,)
        return until(seconds, f"produce to {topic}-{partition}", send)[0]

    def read(self, topic, partition, seconds=20):
        def fetch():
            node = self.leaders(topic)[partition]
            with node.connect() as connection:
                error = connection.fetch(topic, {partition: 0})[partition][0]
                if error in NOT_YET:
                    return None
                return [[value for _, _, value in connection.read_all(topic, partition)]]
        return until(seconds, f"read {topic}-{partition}", fetch)[0]

    def holds(self, topic, partition, values, seconds=20):
        """These, and nothing else. A leader that has just begun does not know at once how much is committed."""
        def enough():
            found = self.read(topic, partition)
            return len(found) >= len(values) and found
        found = until(seconds, f"{len(values)} records of {topic}-{partition}", enough)
        assert found == values, found


FAST = {"broker_session_timeout_ms": 2000, "broker_heartbeat_interval_ms": 300}


def forms_a_cluster_and_every_node_takes_requests_for_the_controller():
    with Cluster(controllers=3, brokers=1) as cluster:
        for node in cluster.nodes:
            cluster.create(node, f"made-by-{node.id}", 4)
        for node in cluster.nodes:
            with node.connect() as connection:
                names = [f"made-by-{n.id}" for n in cluster.nodes]
                until(10, "all topics at every node", lambda: all(e == 0 for e, _ in connection.metadata(names).values()))
        # Spread over the brokers: each leads one of each.
        for node in cluster.nodes:
            leaders = cluster.leaders(f"made-by-{node.id}")
            assert {leader.id for leader in leaders.values()} == {1, 2, 3, 4}, leaders
        for partition in range(4):
            for i in range(10):
                cluster.produce("made-by-1", partition, b"%d-%d" % (partition, i))
        for partition in range(4):
            cluster.holds("made-by-1", partition, [b"%d-%d" % (partition, i) for i in range(10)])
        # Producer ids of different nodes are different ones.
        pids = [node.connect().init_producer()[0] for node in cluster.nodes for _ in range(3)]
        assert len(set(pids)) == len(pids), pids
        with cluster.nodes[2].connect(60) as connection:
            assert connection.delete("made-by-4") == {"made-by-4": 0}
        until(10, "made-by-4 is gone everywhere", lambda: all(
            node.connect().metadata(["made-by-4"])["made-by-4"][0] == 3 for node in cluster.nodes))


def survives_kills_of_the_active_controller():
    with Cluster(controllers=3, **FAST) as cluster:
        gaps = []
        for turn in range(3):
            victim = cluster.active_controller()
            victim.kill()
            began = time.monotonic()
            asked = cluster.live()[turn % 2]
            cluster.create(asked, f"after-{turn}", 3)  # waits at the node for the next controller
            gaps.append(time.monotonic() - began)
            until(20, "the dead broker is fenced", lambda: victim.id not in cluster.live()[0].brokers())
            victim.start()
            cluster.settled()
        for turn in range(3):
            cluster.leaders(f"after-{turn}")
        print("  from kill -9 to a topic: " + ", ".join(f"{gap:.2f}" for gap in gaps) + " s")


def the_next_controller_fences_one_that_stands_still():
    """Who takes over has nothing to append, and must watch the others' sessions all the same."""
    with Cluster(controllers=3, **FAST) as cluster:
        victim = cluster.active_controller()
        other = next(node for node in cluster.nodes if node is not victim)
        victim.process.send_signal(signal.SIGSTOP)
        until(15, "who stands still is fenced", lambda: victim.id not in other.brokers())
        victim.process.send_signal(signal.SIGCONT)
        cluster.settled()


def a_broker_comes_back_with_what_it_acknowledged():
    with Cluster(controllers=3, brokers=1) as cluster:
        cluster.create(cluster.nodes[0], "t", 8)
        for partition in range(8):
            cluster.produce("t", partition, b"before")
        for number in (4, 2):
            victim = cluster.node(number)
            victim.kill()
            victim.start()
            cluster.settled()
            for partition in range(8):
                assert cluster.read("t", partition)[0] == b"before"
        assert cluster.node(4).stop() == 0
        until(5, "who has stopped is not told of", lambda: 4 not in cluster.nodes[0].brokers())
        cluster.node(4).start()
        cluster.settled()
        for partition in range(8):
            cluster.produce("t", partition, b"after")
            cluster.holds("t", partition, [b"before", b"after"])


def what_was_acknowledged_outlives_its_leaders():
    """Three replicas, acks=all: the leader of a partition is killed again and again, and nothing is missing or doubled."""
    with Cluster(controllers=3, **FAST) as cluster:
        cluster.create(cluster.nodes[0], "t", 2, replicas=3, configs={"min.insync.replicas": 2})
        cluster.in_sync("t", 3)
        sent, gaps = {0: [], 1: []}, []
        for turn in range(4):
            for i in range(20):
                for partition in sent:
                    value = b"%d-%d-%d" % (turn, partition, i)
                    cluster.produce("t", partition, value)
                    sent[partition].append(value)
            victim = cluster.leaders("t")[turn % 2]
            victim.kill()
            began = time.monotonic()
            value = b"after-%d" % turn
            cluster.produce("t", turn % 2, value)
            sent[turn % 2].append(value)
            gaps.append(time.monotonic() - began)
            victim.start()
            cluster.settled()
            cluster.in_sync("t", 3)
        for partition, values in sent.items():
            found = cluster.read("t", partition)
            # An attempt whose answer was lost may have been appended twice: this producer is not idempotent.
            assert [v for i, v in enumerate(found) if i == 0 or v != found[i - 1]] == values
        print("  from kill -9 of a leader to the next acknowledged record: " + ", ".join(f"{gap:.2f}" for gap in gaps) + " s")


def groups_move_with_their_partitions():
    with Cluster(controllers=3, **FAST) as cluster:
        cluster.create(cluster.nodes[0], "t", 1, replicas=3)
        groups = [f"group-{i}" for i in range(6)]
        for i, group in enumerate(groups):
            cluster.commit(group, "t", 100 + i)
        cluster.in_sync("__consumer_offsets", 3)
        victim = cluster.coordinator(groups[0])
        victim.kill()
        for i, group in enumerate(groups):
            until(20, "another coordinator", lambda group=group: cluster.coordinator(group) is not victim)
            assert cluster.committed(group, "t") == 100 + i
            cluster.commit(group, "t", 200 + i)
        victim.start()
        cluster.settled()
        cluster.in_sync("__consumer_offsets", 3)
        # A stop in order: the groups are elsewhere before the node is gone.
        victim = cluster.coordinator(groups[0])
        assert victim.stop() == 0
        for i, group in enumerate(groups):
            assert cluster.committed(group, "t", 5) == 200 + i


def all_stop_and_start_again():
    with Cluster(controllers=3) as cluster:
        cluster.create(cluster.nodes[0], "t", 6)
        for partition in range(6):
            cluster.produce("t", partition, b"1")
        for node in cluster.nodes:
            node.process.send_signal(signal.SIGTERM)
        codes = [node.process.wait(30) for node in cluster.nodes]
        assert codes == [0, 0, 0], codes
        for node in cluster.nodes:
            node.start()
        cluster.settled()
        for node in cluster.nodes:
            node.kill()
        for node in cluster.nodes:
            node.start()
        cluster.settled()
        for partition in range(6):
            cluster.produce("t", partition, b"2")
            cluster.holds("t", partition, [b"1", b"2"])


def a_node_that_waits_for_a_quorum_stops_when_told():
    cluster = Cluster(controllers=3)
    try:
        node = cluster.nodes[0].start()
        time.sleep(1)
        assert not node.is_ready()
        assert node.stop(10) == 0
    finally:
        cluster.__exit__(None)


def nodes_stop_and_come_back_while_nothing_changes():
    """With a snapshot after nearly every record: what a node needs to know at its start is then in a snapshot alone."""
    with Cluster(controllers=3, metadata_log_max_record_bytes_between_snapshots=100) as cluster:
        cluster.create(cluster.nodes[0], "t", 6, replicas=3)
        stops = []
        for node in cluster.nodes * 2:
            cluster.in_sync("t", 3)
            time.sleep(0.3)  # for the last snapshot
            began = time.monotonic()
            assert node.stop() == 0
            stops.append(time.monotonic() - began)
            node.start()
            cluster.settled(10)
        print("  orderly stops: " + ", ".join(f"{seconds:.2f}" for seconds in stops) + " s")
        assert sorted(stops)[len(stops) // 2] < 1.5, stops  # less than the interval of heartbeats


def brokers_that_only_know_where_to_ask_first():
    """The voter stands in the metadata log; brokers name a bootstrap server. One comes late and gets a snapshot."""
    with Cluster(controllers=1, metadata_log_max_record_bytes_between_snapshots=3000) as cluster:
        for i in range(30):
            cluster.create(cluster.nodes[0], f"t{i}", 3)
        late = Node(cluster, 2, "broker")
        cluster.nodes.append(late)
        late.start()
        cluster.settled()
        with late.connect() as connection:
            names = [f"t{i}" for i in range(30)]
            assert all(error == 0 for error, _ in connection.metadata(names).values())
        logs = sorted((late.folder / "data/__cluster_metadata-0").glob("*.log"))
        assert int(logs[0].stem) > 0, "the log goes back to its beginning: no snapshot came"
        cluster.create(late, "after", 2)
        assert {node.id for node in cluster.leaders("after").values()} == {1, 2}
        # Its snapshots are damaged: it does not start with half of them, but as its error says. (RQ-10)
        late.kill()
        checkpoints = sorted((late.folder / "data/__cluster_metadata-0").glob("*.checkpoint"))
        for checkpoint in checkpoints:
            os.truncate(checkpoint, checkpoint.stat().st_size - 1)
        late.start()
        assert late.process.wait(20) != 0
        told = (late.folder / "log").read_text()
        assert f"read {checkpoints[-1]}: " in told and "votes when it has" in told, told[-2000:]
        for path in (late.folder / "data/__cluster_metadata-0").iterdir():
            path.unlink()
        late.start()
        cluster.settled()
        cluster.produce("after", 1, b"with all that it must know")


if __name__ == "__main__":
    wire.main(forms_a_cluster_and_every_node_takes_requests_for_the_controller, survives_kills_of_the_active_controller,
              the_next_controller_fences_one_that_stands_still, a_broker_comes_back_with_what_it_acknowledged, what_was_acknowledged_outlives_its_leaders,
              groups_move_with_their_partitions, all_stop_and_start_again,
              a_node_that_waits_for_a_quorum_stops_when_told, nodes_stop_and_come_back_while_nothing_changes, brokers_that_only_know_where_to_ask_first)
