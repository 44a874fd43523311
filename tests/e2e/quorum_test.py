#!/usr/bin/env python3
"""Proves that three controllers form a quorum: they elect a leader, what it acknowledges is on a majority of the disks
and stays through kill -9 of the leader, a stopped node catches up, and the metadata logs are the same bytes. Needs only
Python and the binary in $MILLRACE. (RQ-01, RQ-02.)

    quorum_test.py [TEST...]     PORT=first of three ports (a random one)
"""
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import ports
from wire import ROOT, new_cluster_id

DESCRIBE_QUORUM, BROKER_REGISTRATION, BROKER_HEARTBEAT = 55, 62, 63


def varuint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def compact(text):
    return varuint(len(text) + 1) + text.encode()


class Answer:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        out = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return out[0] if len(out) == 1 else out

    def varuint(self):
        shift = value = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        size = self.varuint() - 1
        self.at += size
        return self.data[self.at - size:self.at].decode()


class Node:
    def __init__(self, quorum, index):
        self.quorum, self.id, self.port = quorum, index + 1, quorum.ports[index]
        self.data = quorum.directory / f"node-{self.id}"
        self.log = quorum.directory / f"node-{self.id}.log"
        self.process = None

    def start(self):
        millrace = os.environ.get("MILLRACE", str(ROOT / "build/release/millrace"))
        settings = {"node.id": self.id, "process.roles": "controller", "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
                    "controller.listener.names": "CONTROLLER", "controller.quorum.voters": self.quorum.voters,
                    "log.dirs": self.data, "millrace.cluster.id": self.quorum.id, "millrace.space.low.bytes": 1 << 20,
                    "millrace.admin.listener": "", **self.quorum.settings}
        command = [millrace, "serve"] + [x for k, v in settings.items() for x in ("-o", f"{k}={v}")]
        self.process = subprocess.Popen(command, stdout=open(self.log, "ab"), stderr=subprocess.STDOUT)

    def checkpoints(self):
        """Of the metadata log, oldest first."""
        return sorted((self.data / "__cluster_metadata-0").glob("*.checkpoint"))

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(30)
        self.process = None

    def call(self, key, version, body, timeout=5):
        """A flexible request (header version 2) on a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            header = struct.pack(">hhih", key, version, 7, 4) + b"test" + b"\0"
            s.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            data = b""
            while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
                piece = s.recv(1 << 16)
                if not piece:
                    raise ConnectionError("closed")
                data += piece
            return Answer(data[9:])  # length, correlation id, tags

    def quorum_state(self):
        """(leader, epoch, high watermark, {voter: log end}), or None: this node does not lead."""
        body = varuint(2) + compact("__cluster_metadata") + varuint(2) + struct.pack(">i", 0) + b"\0\0" + b"\0"
        a = self.call(DESCRIBE_QUORUM, 0, body)
        if a.take("h") != 0 or a.varuint() != 2:
            return None
        a.text()
        a.varuint()
        _, error, leader, epoch, mark = a.take("ihiiq")
        if error != 0:
            return None
        voters = {}
        for _ in range(a.varuint() - 1):
            voter, end = a.take("iq")
            a.varuint()
            voters[voter] = end
        return leader, epoch, mark, voters

    def registration(self, broker):
        features = [("metadata.version", 1, 100)] + [(f, 0, 10) for f in (
            "kraft.version", "transaction.version", "group.version", "eligible.leader.replicas.version", "share.version",
            "streams.version")]
        return (struct.pack(">i", broker) + compact(self.quorum.id) + uuid.uuid4().bytes +
                varuint(2) + compact("PLAINTEXT") + compact("127.0.0.1") + struct.pack(">Hh", 9, 0) + b"\0" +
                varuint(len(features) + 1) + b"".join(compact(n) + struct.pack(">hh", lo, hi) + b"\0" for n, lo, hi in features) +
                b"\0" + b"\0" + varuint(2) + uuid.uuid4().bytes + b"\0")  # no rack, not migrating, one directory

    def register(self, broker):
        """The broker epoch, once it is committed; None: this is not the leader."""
        a = self.call(BROKER_REGISTRATION, 2, self.registration(broker))
        _, error, epoch = a.take("ihq")
        if error == 41:  # NOT_CONTROLLER
            return None
        assert error == 0, f"registration of {broker}: error {error}"
        return epoch

    def heartbeat(self, broker, epoch):
        a = self.call(BROKER_HEARTBEAT, 0, struct.pack(">iqq??", broker, epoch, 0, True, False) + b"\0")
        return a.take("ih")[1]

    def batches(self, below):
        """The log's bytes up to an offset."""
        out = b""
        for file in sorted((self.data / "__cluster_metadata-0").glob("*.log")):
            data, at = file.read_bytes(), 0
            while at + 61 <= len(data):
                base, size = struct.unpack_from(">qi", data, at)
                if size <= 0 or base >= below:
                    break
                out += data[at:at + 12 + size]
                at += 12 + size
        return out


class Quorum:
    def __init__(self, count=3, **settings):
        self.settings = {key.replace("_", "."): value for key, value in settings.items()}
        first = int(os.environ.get("PORT", 0)) or ports.reserve(count)
        self.id = new_cluster_id()
        self.ports = [first + i for i in range(count)]
        self.voters = ",".join(f"{i + 1}@127.0.0.1:{port}" for i, port in enumerate(self.ports))
        self.directory = Path(tempfile.mkdtemp(prefix="millrace-quorum-"))
        self.nodes = [Node(self, i) for i in range(count)]

    def __enter__(self):
        for node in self.nodes:
            node.start()
        return self

    def __exit__(self, kind, *_):
        for node in self.nodes:
            if node.process:
                node.kill()
        if kind:
            for node in self.nodes:
                print(f"--- node {node.id}", *node.log.read_text(errors="replace").splitlines()[-30:], sep="\n", file=sys.stderr)
        shutil.rmtree(self.directory, ignore_errors=True)

    def leader(self, seconds=20, other_than=None):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for node in self.nodes:
                if node.process is None or node is other_than:
                    continue
                try:
                    state = node.quorum_state()
                except (OSError, struct.error, IndexError):
                    continue
                if state and state[0] == node.id and state[2] > 0:
                    return node, state
            time.sleep(0.01)
        raise AssertionError(f"no leader within {seconds} s")

    def register(self, broker, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for node in self.nodes:
                if node.process is None:
                    continue
                try:
                    epoch = node.register(broker)
                except (OSError, struct.error):
                    continue
                if epoch is not None:
                    return epoch
            time.sleep(0.01)
        raise AssertionError(f"broker {broker} was not registered within {seconds} s")

    def settled(self, seconds=20):
        """All voters have all that there is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            leader, (_, _, mark, voters) = self.leader()
            if set(voters.values()) == {mark} and len(voters) == len(self.nodes):
                return leader, mark
            time.sleep(0.05)
        raise AssertionError(f"the voters do not catch up: {voters}, mark {mark}")

    def check_acknowledged(self, acknowledged):
        leader, mark = self.settled()
        for broker, epoch in acknowledged.items():
            error = leader.heartbeat(broker, epoch)
            assert error == 0, f"broker {broker} was registered with epoch {epoch}; its heartbeat: error {error}"
        end = time.monotonic() + 5
        while True:  # what a majority of the disks has, the leader's own may not have yet
            logs = [node.batches(mark) for node in self.nodes]
            if all(log == logs[0] for log in logs) or time.monotonic() > end:
                break
            time.sleep(0.02)
        assert logs[0] and all(log == logs[0] for log in logs), f"logs differ below {mark}: {[len(log) for log in logs]} bytes"


def damage(checkpoint):
    data = bytearray(checkpoint.read_bytes())
    data[len(data) // 2] ^= 1
    checkpoint.write_bytes(data)


def refuses_and_is_helped(node, checkpoint):
    """Its start ends with an error that names the file and what to do, and after that it starts."""
    node.start()
    assert node.process.wait(20) != 0
    told = node.log.read_text()
    assert f"read {checkpoint}: " in told and "votes when it has" in told, told[-2000:]
    assert checkpoint.exists()
    for path in (node.data / "__cluster_metadata-0").iterdir():
        path.unlink()
    node.start()


def elects_and_replicates():
    begin = time.monotonic()
    with Quorum() as quorum:
        leader, state = quorum.leader()
        print(f"  node {leader.id} leads epoch {state[1]} after {time.monotonic() - begin:.2f} s")
        acknowledged = {1000 + i: quorum.register(1000 + i) for i in range(50)}
        quorum.check_acknowledged(acknowledged)


def survives_kills_of_the_leader():
    rounds = int(os.environ.get("ROUNDS", "5"))
    with Quorum() as quorum:
        acknowledged, gaps = {}, []
        broker = 1000
        for _ in range(rounds):
            for _ in range(5):
                acknowledged[broker] = quorum.register(broker)
                broker += 1
            victim, _ = quorum.leader()
            begin = time.monotonic()
            victim.kill()
            acknowledged[broker] = quorum.register(broker)
            broker += 1
            gaps.append(time.monotonic() - begin)
            victim.start()
            quorum.settled()
        quorum.check_acknowledged(acknowledged)
        print("  from kill -9 to the next acknowledged record: " + ", ".join(f"{gap:.2f}" for gap in gaps) + " s")


def survives_kills_of_all():
    with Quorum() as quorum:
        acknowledged = {1000 + i: quorum.register(1000 + i) for i in range(20)}
        for node in quorum.nodes:
            node.kill()
        for node in reversed(quorum.nodes):
            node.start()
        acknowledged[2000] = quorum.register(2000)
        quorum.check_acknowledged(acknowledged)


def hands_over_when_it_stops():
    with Quorum() as quorum:
        acknowledged = {1000: quorum.register(1000)}
        leader, _ = quorum.leader()
        begin = time.monotonic()
        leader.process.send_signal(signal.SIGTERM)
        acknowledged[1001] = quorum.register(1001)
        gap = time.monotonic() - begin
        leader.process.wait(30)
        leader.process = None
        leader.start()
        quorum.check_acknowledged(acknowledged)
        print(f"  from SIGTERM to the next acknowledged record: {gap:.2f} s")


def a_long_tail_that_nobody_else_has_is_cut():
    """More batches than a node keeps images of at its start (256)."""
    with Quorum(controller_quorum_fetch_timeout_ms=10000) as quorum:  # it leads on for 15 s without being fetched from
        acknowledged = {1000: quorum.register(1000)}
        quorum.settled()
        leader, (_, _, mark, _) = quorum.leader()
        others = [node for node in quorum.nodes if node is not leader]
        for node in others:
            node.process.send_signal(signal.SIGSTOP)
        sockets = []
        for i in range(400):  # one a connection: the next would wait for its answer, which does not come
            body = leader.registration(2000 + i)
            header = struct.pack(">hhih", BROKER_REGISTRATION, 2, 7, 4) + b"test" + b"\0"
            sockets.append(socket.create_connection(("127.0.0.1", leader.port)))
            sockets[-1].sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        end = time.monotonic() + 12
        while len(leader.batches(1 << 60)) < len(leader.batches(mark)) + 300 * 200 and time.monotonic() < end:
            time.sleep(0.02)
        leader.kill()
        tail = len(leader.batches(1 << 60)) - len(leader.batches(mark))
        for node in others:
            node.process.send_signal(signal.SIGCONT)
        acknowledged[3000] = quorum.register(3000)
        leader.start()
        quorum.check_acknowledged(acknowledged)
        assert "it is read again" in leader.log.read_text(), "the tail was too short"
        print(f"  {tail} bytes were cut off")


def who_is_far_behind_gets_a_snapshot():
    with Quorum(metadata_log_max_record_bytes_between_snapshots=3000) as quorum:
        acknowledged = {1000: quorum.register(1000)}
        quorum.settled()
        leader, _ = quorum.leader()
        behind, wiped = [node for node in quorum.nodes if node is not leader]
        behind.kill()
        acknowledged.update({1001 + i: quorum.register(1001 + i) for i in range(100)})
        behind.start()
        quorum.settled()
        wiped.kill()
        shutil.rmtree(wiped.data)
        acknowledged.update({2001 + i: quorum.register(2001 + i) for i in range(20)})
        wiped.start()
        leader, mark = quorum.settled()
        for node in (behind, wiped):
            assert list((node.data / "__cluster_metadata-0").glob("*.checkpoint")), node.id
            logs = sorted((node.data / "__cluster_metadata-0").glob("*.log"))
            assert int(logs[0].stem) > 0, "the log goes back to its beginning: no snapshot came"
        # One that has taken snapshots of its own since goes on with the one before where the newest is damaged. (RQ-10)
        assert len(behind.checkpoints()) > 1, "there is no older one"
        behind.kill()
        newest = behind.checkpoints()[-1]
        damage(newest)
        behind.start()
        acknowledged[3000] = quorum.register(3000)  # what was told before its end would pass for caught up
        quorum.settled()
        assert f"{newest}: " in behind.log.read_text() and "it is removed" in behind.log.read_text()
        # Without any, it does not start; it does as its error says, and fetches everything anew.
        behind.kill()
        newest = behind.checkpoints()[-1]
        for checkpoint in behind.checkpoints():
            damage(checkpoint)
        refuses_and_is_helped(behind, newest)
        acknowledged[3001] = quorum.register(3001)
        quorum.settled()
        # Whoever leads now knows of everybody.
        leader, _ = quorum.leader()
        leader.kill()
        leader, _ = quorum.leader()
        for broker, epoch in acknowledged.items():
            assert leader.heartbeat(broker, epoch) == 0, broker


TESTS = [elects_and_replicates, survives_kills_of_the_leader, survives_kills_of_all, hands_over_when_it_stops,
         a_long_tail_that_nobody_else_has_is_cut, who_is_far_behind_gets_a_snapshot]

if __name__ == "__main__":
    wanted = sys.argv[1:] or [test.__name__ for test in TESTS]
    for test in TESTS:
        if test.__name__ in wanted:
            print(test.__name__, flush=True)
            test()
    unknown = set(wanted) - {test.__name__ for test in TESTS}
    assert not unknown, unknown
    print("ok")
