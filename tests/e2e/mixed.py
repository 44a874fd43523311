#!/usr/bin/env python3
"""Apache Kafka and millrace as nodes of one cluster of three, broker and controller each, under load with acks=all.

    mixed.py [--libs KAFKA_JARS] [--quorum static|dynamic] PART...
        PART: kkm, kmm (the kinds of nodes 1 to 3), migrate, migrate-killed

kkm, kmm: a node of either kind is killed, stopped, and paused past its session, as leader of a third of the partitions and
follower of the others, and as active controller. migrate: one node after the other goes over from Kafka to millrace, on its own
data directory with its own file, and then back; migrate-killed: the same with kill -9 in place of a clean stop. The quorum's
voters stand in the files (static) or in the metadata log (dynamic, as `kafka-storage format --initial-controllers` does it). After each
step all replicas must be in sync again. At the end each record that was acknowledged is there once, at the offset that was
told, a group has read everything, and the logs of a partition are the same bytes on all nodes, as are their leader epochs.
Needs confluent-kafka, java and Kafka's jars. Ends with `N passed, N failed`.
"""
import argparse
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import ports
from wire import ROOT, Connection, new_cluster_id

TOPIC, PARTITIONS, REPLICAS = "mixed", 6, 3
DIRECTORY_IDS = ["3Db5QLSqSZieL3rJBUUegA", "4Db5QLSqSZieL3rJBUUegA", "5Db5QLSqSZieL3rJBUUegA"]
SESSION_S = 6
QUIET = {"log_level": 0}  # connections that end are what this is about
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def until(seconds, what, question):
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            last = question()
            if last:
                return last
        except (OSError, KafkaException, AssertionError, struct.error) as error:
            last = error
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {seconds} s; last: {last!r}")


class Node:
    """One data directory and one file; what runs on it is told at each start."""

    def __init__(self, cluster, number, kind):
        self.cluster, self.id, self.kind, self.process = cluster, number, kind, None
        self.port, self.folder = cluster.base + 10 * (number - 1), cluster.folder / str(number)
        self.folder.mkdir()
        self.config, self.log = self.folder / "server.properties", self.folder / "log"
        addresses = {i: f"127.0.0.1:{cluster.base + 10 * (i - 1) + 1}" for i in (1, 2, 3)}
        quorum = "controller.quorum.voters=" + ",".join(f"{i}@{address}" for i, address in addresses.items())
        self.initial = []
        if cluster.is_dynamic:
            quorum = "controller.quorum.bootstrap.servers=" + ",".join(addresses.values())
            self.initial = ["--initial-controllers", ",".join(f"{i}@{a}:{DIRECTORY_IDS[i - 1]}" for i, a in addresses.items())]
        self.config.write_text("\n".join([
            "process.roles=broker,controller", f"node.id={number}", quorum,
            "controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.port + 1}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", f"log.dirs={self.folder}/data",
            "offsets.topic.replication.factor=3", "offsets.topic.num.partitions=3", "min.insync.replicas=2",
            f"broker.session.timeout.ms={SESSION_S * 1000}", "group.initial.rebalance.delay.ms=0",
            "initial.broker.registration.timeout.ms=200000",
            "log.segment.bytes=1048576", ""]))

    def start(self, kind=None):
        self.kind = kind or self.kind
        if self.kind == "kafka":
            if not (self.folder / "data/meta.properties").exists():
                subprocess.run([*self.cluster.java, "kafka.tools.StorageTool", "format", "-t", self.cluster.id, "-c", self.config,
                                *self.initial], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            command = [*self.cluster.java, "kafka.Kafka", self.config]
        else:
            command = [self.cluster.millrace, "serve", "--config", self.config, "-o", f"millrace.cluster.id={self.cluster.id}",
                       "-o", f"millrace.admin.listener=127.0.0.1:{self.port + 2}", "-o", "millrace.space.low.bytes=1048576"]
        with open(self.log, "ab") as log:
            log.write(f"--- {self.kind}\n".encode())
            log.flush()
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)

    def end(self, how, timeout=60):
        self.process.send_signal(how)
        code = self.process.wait(timeout)
        self.process = None
        return code

    def __str__(self):
        return f"{self.kind} {self.id}"


class Cluster:
    def __init__(self, kinds, options):
        self.base, self.millrace = options.port or ports.reserve(10 * len(kinds)), options.millrace
        self.id = new_cluster_id()
        self.is_dynamic = options.quorum == "dynamic"
        self.folder = Path(tempfile.mkdtemp(prefix="millrace-mixed-"))
        (self.folder / "log4j2.yaml").write_text(
            "Configuration:\n  Appenders: {Console: {name: C, PatternLayout: {pattern: '%d %p %c{1} %m%n'}}}\n"
            "  Loggers: {Root: {level: INFO, AppenderRef: {ref: C}}}\n")
        self.java = [*JAVA, f"-Dlog4j2.configurationFile={self.folder}/log4j2.yaml", "-cp", f"{options.libs}/*"]
        self.nodes = [Node(self, i + 1, kind) for i, kind in enumerate(kinds)]
        self.bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.keep = options.keep

    def __enter__(self):
        for node in self.nodes:
            node.start()
        until(120, "three brokers", lambda: len(self.metadata(self.nodes[0])[1]) == 3)
        admin = AdminClient({**QUIET, "bootstrap.servers": self.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, REPLICAS)])[TOPIC].result(60)
        self.settled()
        return self

    def __exit__(self, kind, *_):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.end(signal.SIGKILL)
        if kind or self.keep:
            print(f"data and logs: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def metadata(self, node):
        """({partition: leader}, broker ids) as a node tells."""
        assert node.process.poll() is None, f"{node} ended with {node.process.returncode}"
        with Connection(("127.0.0.1", node.port), 5) as connection:
            _, partitions = connection.metadata([TOPIC])[TOPIC]
            return {p: leader for p, (_, leader) in partitions.items()}, {row[0] for row in connection.brokers}

    def in_sync(self, node):
        with Connection(("127.0.0.1", node.port), 5) as connection:
            return connection.in_sync(TOPIC)

    def settled(self, seconds=90):
        """All are in sync, as every node tells."""
        began = time.monotonic()
        for node in self.nodes:
            until(seconds, f"all in sync, as {node} tells", lambda node=node: len(self.metadata(node)[1]) == 3 and
                  sorted(self.in_sync(node).values()) == [REPLICAS] * PARTITIONS)
        return time.monotonic() - began

    def balanced(self):
        """Every node leads what it is preferred for."""
        run = subprocess.run([self.millrace, "cluster", "elect-leaders", "-b", self.bootstrap], capture_output=True, text=True,
                             check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        for node in self.nodes:
            until(30, f"each leads two, as {node} tells", lambda node=node: sorted(
                Counter(self.metadata(node)[0].values()).values()) == [2, 2, 2])

    def controller(self):
        def ask():
            for node in self.nodes:
                if node.process:
                    run = subprocess.run([self.millrace, "cluster", "quorum", "-b", f"127.0.0.1:{node.port}", "--json"],
                                         capture_output=True, text=True, check=False, timeout=30)
                    found = re.search(r'"leader(?:_id)?": *(\d+)', run.stdout)
                    if found:
                        return self.nodes[int(found[1]) - 1]
            return None
        return until(30, "an active controller", ask)


class Load:
    """Writers with acks=all, and a group of two that reads; all that was acknowledged, and all that was read."""

    def __init__(self, cluster):
        self.cluster, self.stopping, self.reading_ends = cluster, threading.Event(), threading.Event()
        self.acknowledged, self.refused, self.read = {}, [], Counter()
        self.gap_s = 0.0
        self.threads = [threading.Thread(target=self.write), *(threading.Thread(target=self.consume) for _ in range(2))]
        for thread in self.threads:
            thread.start()

    def write(self):
        producer = Producer({**QUIET, "bootstrap.servers": self.cluster.bootstrap, "enable.idempotence": True, "acks": "all",
                             "linger.ms": 5, "compression.type": "lz4", "message.timeout.ms": 120000, "queue.buffering.max.messages": 20000})
        last = [time.monotonic()]

        def told(error, message):
            if error:
                self.refused.append((message.value(), error))
                return
            self.acknowledged[message.value()] = (message.partition(), message.offset())
            now = time.monotonic()
            self.gap_s, last[0] = max(self.gap_s, now - last[0]), now

        number = 0
        while not self.stopping.is_set():
            for _ in range(40):
                try:
                    producer.produce(TOPIC, b"%08d" % number + b"x" * (number % 700), partition=number % PARTITIONS,
                                     on_delivery=told)
                    number += 1
                except BufferError:
                    break
            producer.poll(0.02)
        left = producer.flush(120)
        if left:
            self.refused.append((b"", f"{left} not delivered"))

    def consume(self):
        consumer = Consumer({**QUIET, "bootstrap.servers": self.cluster.bootstrap, "group.id": "mixed", "enable.auto.commit": False,
                             "auto.offset.reset": "earliest", "session.timeout.ms": 10000, "check.crcs": True})
        consumer.subscribe([TOPIC])
        while not self.reading_ends.is_set():
            messages = [m for m in consumer.consume(2000, 0.3) if not m.error()]
            self.read.update((m.partition(), m.offset(), m.value()) for m in messages)
            if messages:
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException:
                    pass  # it is committed with the next records
        consumer.close()

    def gap(self):
        """The longest time without an acknowledgement since this was asked last."""
        found, self.gap_s = self.gap_s, 0.0
        return found

    def end(self):
        self.stopping.set()
        self.threads[0].join()
        try:
            until(60, "the group has read everything", lambda: len({r[:2] for r in list(self.read)}) >= len(self.acknowledged))
        finally:
            self.reading_ends.set()
            for thread in self.threads[1:]:
                thread.join()


def read_all(bootstrap):
    """[(partition, offset, value)]"""
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
    rows, ended, end = [], set(), time.monotonic() + 90
    while len(ended) < PARTITIONS and time.monotonic() < end:
        for message in consumer.consume(5000, 0.5):
            if message.error():
                if message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
            else:
                rows.append((message.partition(), message.offset(), message.value()))
    consumer.close()
    assert len(ended) == PARTITIONS, f"the end was reached of {sorted(ended)} only"
    return rows


def batches(folder):
    """The batches of a partition's log, whatever its segments, as {base offset: bytes}."""
    out = {}
    for segment in sorted(folder.glob("*.log")):
        data, at = segment.read_bytes(), 0
        while at + 61 <= len(data):
            base, length = struct.unpack_from(">qi", data, at)
            if length == 0:
                break  # space that was reserved
            assert base not in out, f"{segment}: offset {base} twice"
            out[base] = data[at:at + 12 + length]
            at += 12 + length
    return out


def epochs_with_records(folder, last_base):
    """[(leader epoch, first offset)]; a leader notes its epoch when it begins, so those without a record differ."""
    checkpoint = folder / "leader-epoch-checkpoint"
    lines = checkpoint.read_text().split("\n")[2:] if checkpoint.exists() else []
    return [row for row in (tuple(map(int, line.split())) for line in lines if line) if row[1] <= last_base]


def check_records(load, rows):
    assert not load.refused, f"{len(load.refused)} records were refused: {load.refused[:3]}"
    at = {}
    for partition, offset, value in rows:
        assert value not in at, f"{value[:8]} is there twice: {at[value]} and {(partition, offset)}"
        at[value] = (partition, offset)
    for value, place in load.acknowledged.items():
        assert at.get(value) == place, f"{value[:8]} was acknowledged at {place} and is at {at.get(value)}"
    for partition in range(PARTITIONS):
        mine = [(offset, value) for p, offset, value in rows if p == partition]
        assert [o for o, _ in mine] == list(range(len(mine))), f"partition {partition} has holes"
        assert [v for _, v in mine] == sorted(v for _, v in mine), f"partition {partition} is out of order"
    values = {}
    for partition, offset, value in load.read:
        assert values.setdefault((partition, offset), value) == value, f"{partition}-{offset} was read with two values"
        assert at.get(value) == (partition, offset), f"{value[:8]} was read at {(partition, offset)} and is at {at.get(value)}"
    print(f"  {len(load.acknowledged)} acknowledged, {len(rows)} there, {sum(load.read.values())} read by the group", flush=True)


def check_bytes(cluster):
    compared = 0
    for name in [f"{TOPIC}-{p}" for p in range(PARTITIONS)] + [f"__consumer_offsets-{p}" for p in range(3)]:
        logs = [batches(node.folder / "data" / name) for node in cluster.nodes]
        for node, log in zip(cluster.nodes[1:], logs[1:]):
            if log != logs[0]:
                spots = sorted(base for base in log.keys() | logs[0].keys() if log.get(base) != logs[0].get(base))
                raise AssertionError(f"{name} of {node} is not that of {cluster.nodes[0]} in {len(spots)} batches: {spots[0]} is "
                                     f"{log.get(spots[0], b'')[:61].hex()} and {logs[0].get(spots[0], b'')[:61].hex()}")
        compared += sum(map(len, logs[0].values()))
        epochs = [epochs_with_records(node.folder / "data" / name, max(log, default=-1))
                  for node, log in zip(cluster.nodes, logs)]
        assert epochs[0] == epochs[1] == epochs[2], f"leader epochs of {name}: {epochs}"
    print(f"  {compared} bytes of batches are the same on all nodes", flush=True)


def finish(cluster, load):
    load.end()
    cluster.settled()
    rows = read_all(cluster.bootstrap)
    check_records(load, rows)
    time.sleep(1)  # followers hear of the last mark
    for node in cluster.nodes:
        node.process.send_signal(signal.SIGTERM)
    for node in cluster.nodes:
        try:
            code = node.process.wait(30)
            assert code in (0, 143), f"{node} ended with {code}"
        except subprocess.TimeoutExpired:
            assert node.kind == "kafka", f"{node} does not end"  # Kafka's last ones wait for a controller to leave their partitions to
            node.end(signal.SIGKILL)
    check_bytes(cluster)


def disturb(cluster, load, node, how):
    role = "controller" if cluster.controller() is node else "broker"
    load.gap()
    if how == "pause":
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(SESSION_S + 4)
        node.process.send_signal(signal.SIGCONT)
        time.sleep(1)
    else:
        node.end(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        time.sleep(2)
        node.start()
    seconds = cluster.settled()
    print(f"  {how} {node} ({role}): in sync {seconds:.1f} s later, longest gap {load.gap():.1f} s", flush=True)
    cluster.balanced()


def faults(kinds, options):
    """One node of each kind is hit in each way, as leader and as follower; then the active controller, whichever it is."""
    with Cluster(kinds, options) as cluster:
        load = Load(cluster)
        try:
            time.sleep(3)
            cluster.balanced()
            for how in options.how.split(","):
                for kind in ("kafka", "millrace"):
                    disturb(cluster, load, next(n for n in cluster.nodes if n.kind == kind), how)
            for how in options.how.split(","):
                disturb(cluster, load, cluster.controller(), how)
            finish(cluster, load)
        finally:
            load.stopping.set()
            load.reading_ends.set()


def migrate(how, options):
    with Cluster(["kafka"] * 3, options) as cluster:
        load = Load(cluster)
        try:
            time.sleep(3)
            for kind in ("millrace", "kafka"):
                for node in cluster.nodes:
                    load.gap()
                    node.end(how)
                    node.start(kind)
                    seconds = cluster.settled()
                    print(f"  node {node.id} is {kind}: in sync {seconds:.1f} s later, longest gap {load.gap():.1f} s",
                          flush=True)
                cluster.balanced()
            finish(cluster, load)
        finally:
            load.stopping.set()
            load.reading_ends.set()


PARTS = {"kkm": lambda options: faults(["kafka", "kafka", "millrace"], options),
         "kmm": lambda options: faults(["kafka", "millrace", "millrace"], options),
         "migrate": lambda options: migrate(signal.SIGTERM, options),
         "migrate-killed": lambda options: migrate(signal.SIGKILL, options)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS))
    parser.add_argument("--libs", default=str(ROOT / "../shared/tools/kafka/libs"), help="the folder of Kafka's jars")
    parser.add_argument("--millrace", default=os.environ.get("MILLRACE", str(ROOT / "build/release/millrace")))
    parser.add_argument("--how", default="kill,stop,pause")
    parser.add_argument("--quorum", choices=("static", "dynamic"), default="static")
    parser.add_argument("--port", type=int, help="the first of 30")
    parser.add_argument("--keep", action="store_true", help="the data and logs stay")
    options = parser.parse_args()
    failed = 0
    for part in options.parts:
        began = time.monotonic()
        problem = None
        try:
            PARTS[part](options)
        except (AssertionError, OSError, subprocess.SubprocessError, KafkaException) as error:
            problem, failed = error, failed + 1
        print(f"{'FAIL' if problem else 'PASS'} {part} ({time.monotonic() - began:.0f} s){f': {problem}' if problem else ''}",
              flush=True)
    print(f"{len(options.parts) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
