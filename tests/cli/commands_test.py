#!/usr/bin/env python3
"""Runs the commands of `millrace` against a node and looks at what they print, what they change and how they end.

    commands_test.py [test...]      MILLRACE names the binary; BOOTSTRAP another cluster to try them on, such as Kafka's

Each JSON document is compared whole where it can be: its shape is a promise (docs/command-line.md).
"""
import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
from wire import Broker, Connection, array, batch, main, text  # noqa: E402
from old_broker import OldBroker  # noqa: E402

MILLRACE = os.environ.get("MILLRACE", str(ROOT / "build/release/millrace"))
OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3


class Cli:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def run(self, *arguments, code=OK, stdin=None):
        """(standard output, standard error)"""
        environment = {name: value for name, value in os.environ.items() if name != "MILLRACE_BOOTSTRAP"}
        if self.bootstrap:
            environment["MILLRACE_BOOTSTRAP"] = self.bootstrap
        done = subprocess.run([MILLRACE, *map(str, arguments)], env=environment, input=stdin, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == code, f"{arguments} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def json(self, *arguments, code=OK):
        return json.loads(self.run(*arguments, "--json", code=code)[0])

    def rows(self, *arguments, code=OK):
        """The lines of a table without its head, split at two blanks."""
        return [re.split(r" {2,}", line.strip()) for line in self.run(*arguments, code=code)[0].splitlines()[1:]]

    def connect(self):
        host, port = self.bootstrap.split(",")[0].rsplit(":", 1)
        return Connection((host, int(port)))

    def write(self, topic, lines, *arguments):
        self.run("produce", topic, *arguments, stdin="".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def node():
    """The commands, bound to a fresh node or to the cluster of BOOTSTRAP."""
    if "BOOTSTRAP" in os.environ:
        yield Cli(os.environ["BOOTSTRAP"])
        return
    with Broker(group_initial_rebalance_delay_ms=0) as broker:
        broker.start()
        yield Cli(f"127.0.0.1:{broker.port}")


def fresh(name):
    return f"{name}-{time.time_ns() % 10**9}"


class Member:
    """A member of a classic group that reads all partitions given; alone in its group."""
    JOIN, HEARTBEAT, LEAVE, SYNC, FIND, COMMIT = 11, 12, 13, 14, 10, 8

    def __init__(self, cli, group, topic, partitions):
        self.group = group
        connection = cli.connect()
        deadline = time.monotonic() + 30
        while True:
            answer = connection.call(self.FIND, 1, text(group) + b"\0")
            answer.take(">i")
            error = answer.take(">h")
            answer.text()
            _, host, port = answer.take(">i"), answer.text(), answer.take(">i")
            if error == 0:
                break
            assert error in (14, 15, 16) and time.monotonic() < deadline, error
            time.sleep(0.05)
        connection.close()
        self.connection = Connection((host, port))
        metadata = struct.pack(">h", 0) + array([text(topic)]) + struct.pack(">i", -1)
        member, error = "", 79
        while error in (79, 14, 16):
            answer = self.connection.call(self.JOIN, 5, text(group) + struct.pack(">ii", 30000, 30000) + text(member) + text(None) +
                                          text("consumer") + array([text("range") + struct.pack(">i", len(metadata)) + metadata]))
            answer.take(">i")
            error, self.generation = answer.take(">hi")
            answer.text(), answer.text()
            member = answer.text()
            assert time.monotonic() < deadline, error
        assert error == 0, error
        self.id = member
        assignment = struct.pack(">h", 0) + array([text(topic) + array([struct.pack(">i", p) for p in partitions])]) + struct.pack(">i", -1)
        answer = self.connection.call(self.SYNC, 3, text(group) + struct.pack(">i", self.generation) + text(member) + text(None) +
                                      array([text(member) + struct.pack(">i", len(assignment)) + assignment]))
        answer.take(">i")
        error = answer.take(">h")
        assert error == 0, error

    def commit(self, topic, offsets, metadata=""):
        rows = [struct.pack(">iqi", p, o, -1) + text(metadata) for p, o in offsets.items()]
        answer = self.connection.call(self.COMMIT, 7, text(self.group) + struct.pack(">i", self.generation) + text(self.id) + text(None) +
                                      array([text(topic) + array(rows)]))
        answer.take(">i")
        errors = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ih"))))
        assert all(error == 0 for _, parts in errors for _, error in parts), errors

    def leave(self):
        answer = self.connection.call(self.LEAVE, 2, text(self.group) + text(self.id))
        _, error = answer.take(">ih")
        assert error == 0, error
        self.connection.close()


def write_at(cli, topic, partitions):
    """One record for each time of {partition: times}."""
    with cli.connect() as c:
        wait_until(lambda: len(c.metadata([topic])[topic][1]) >= len(partitions), lambda: topic)
        leaders = c.metadata([topic])[topic][1]
        brokers = {b[0]: (b[1], b[2]) for b in c.brokers}
    for partition, times in partitions.items():
        with Connection(brokers[leaders[partition][1]]) as c:
            for at in times:
                # A leader may hear of a new partition a moment after Metadata names it.
                wait_until(lambda: c.produce(topic, {partition: batch([b"x"], timestamp_ms=at)})[partition][0] == 0, lambda: (topic, partition))


def topics():
    with node() as cli:
        a, b = fresh("topics-a"), fresh("topics-b")
        out, _ = cli.run("topic", "create", a, b, "-p", 3, "-r", 1)
        assert out == f"created {a}\ncreated {b}\n", out
        assert cli.json("topic", "create", a, code=FAILED) == [
            {"name": a, "ok": False, "error": {"name": "TOPIC_ALREADY_EXISTS", "code": 36, "message": f"Topic '{a}' already exists."}}]
        assert cli.json("topic", "create", a, "--if-not-exists") == [{"name": a, "ok": True, "outcome": "exists"}]
        described = cli.json("topic", "describe", a)
        assert [set(t) for t in described] == [{"name", "id", "internal", "partitions"}], described
        assert [p["partition"] for p in described[0]["partitions"]] == [0, 1, 2]
        assert all(set(p) == {"partition", "leader", "leader_epoch", "replicas", "isr", "offline"} for p in described[0]["partitions"])

        assert cli.json("topic", "alter", a, "-p", 5) == [{"name": a, "ok": True, "outcome": "altered"}]
        assert len(cli.json("topic", "describe", a)[0]["partitions"]) == 5
        _, complaint = cli.run("topic", "alter", a, "-p", 2, code=FAILED)
        assert "INVALID_PARTITIONS" in complaint and "can only get more" in complaint, complaint
        assert cli.json("topic", "alter", a, "-p", 9, "--validate-only") == [{"name": a, "ok": True, "outcome": "valid"}]
        assert len(cli.json("topic", "describe", a)[0]["partitions"]) == 5
        _, complaint = cli.run("topic", "alter", a, code=USAGE)
        assert "nothing to alter" in complaint
        _, complaint = cli.run("topic", "alter", a, "--config", "x", code=USAGE)
        assert "not KEY=VALUE" in complaint
        names = [t["name"] for t in cli.json("topic", "list")]
        assert a in names and b in names and names == sorted(names)
        assert sorted(cli.json("topic", "delete", a, b), key=lambda o: o["name"]) == [{"name": n, "ok": True, "outcome": "deleted"} for n in (a, b)]
        _, complaint = cli.run("topic", "delete", a, code=FAILED)
        assert "UNKNOWN_TOPIC_OR_PARTITION" in complaint and "millrace topic list" in complaint


def topic_offsets():
    with node() as cli:
        topic = fresh("offsets")
        cli.run("topic", "create", topic, "-p", 2, "-r", 1, "--config", "retention.ms=-1")
        write_at(cli, topic, {0: [1000, 2000, 3000], 1: [5000]})
        assert cli.json("topic", "offsets", topic) == [
            {"topic": topic, "partition": 0, "earliest": 0, "latest": 3, "offsets": 3},
            {"topic": topic, "partition": 1, "earliest": 0, "latest": 1, "offsets": 1}]
        assert cli.rows("topic", "offsets", topic) == [[topic, "0", "0", "3", "3"], [topic, "1", "0", "1", "1"]]

        def at(when, *more):
            return {(o["partition"]): (o["offset"], o["timestamp"]) for o in cli.json("topic", "offsets", topic, "--at", when, *more)}
        assert at("@1500") == {0: (1, 2000), 1: (0, 5000)}
        assert at("1970-01-01T00:00:03Z") == {0: (2, 3000), 1: (0, 5000)}
        assert at("@4000") == {0: (None, None), 1: (0, 5000)}
        assert at("earliest") == {0: (0, None), 1: (0, None)}
        assert at("latest", "-p", 1) == {1: (1, None)}
        assert at("max-timestamp") == {0: (2, 3000), 1: (0, 5000)}
        _, complaint = cli.run("topic", "offsets", topic, "--at", "yesterday", code=USAGE)
        assert "is no time" in complaint and "earliest" in complaint
        cli.run("topic", "offsets", fresh("missing"), code=FAILED)
        cli.run("topic", "delete", topic)


def groups():
    with node() as cli:
        topic, group = fresh("groups"), fresh("group")
        cli.run("topic", "create", topic, "-p", 2, "-r", 1)
        cli.write(topic, range(10), "-p", 0)
        member = Member(cli, group, topic, [0, 1])
        member.commit(topic, {0: 4}, "half way")
        listed = [g for g in cli.json("group", "list") if g["name"] == group]
        assert [dict(g, coordinator=0) for g in listed] == [
            {"name": group, "type": "classic", "protocol": "consumer", "state": "Stable", "coordinator": 0}], listed
        assert group in [g["name"] for g in cli.json("group", "list", "--state", "stable", "--type", "classic")]
        assert group not in [g["name"] for g in cli.json("group", "list", "--state", "Empty")]
        assert group not in [g["name"] for g in cli.json("group", "list", "--type", "share")]
        cli.run("group", "list", "--type", "odd", code=USAGE)

        shown = cli.json("group", "describe", group)[0]
        host = shown["members"][0].pop("host")
        assert host.endswith("127.0.0.1")
        assert shown.pop("coordinator") >= 0
        assert shown == {
            "name": group, "type": "classic", "state": "Stable", "protocol": "consumer", "assignor": "range", "epoch": None,
            "members": [{"id": member.id, "instance_id": None, "client_id": "breaker", "epoch": None,
                         "assignment": [{"topic": topic, "partitions": [0, 1]}]}],
            "offsets": [
                {"topic": topic, "partition": 0, "committed": 4, "end": 10, "lag": 6, "leader_epoch": -1, "metadata": "half way",
                 "member": member.id},
                {"topic": topic, "partition": 1, "committed": None, "end": 0, "lag": None, "leader_epoch": None, "metadata": None,
                 "member": member.id}]}, shown
        lines = cli.run("group", "describe", group)[0].splitlines()
        assert lines[0].startswith(f"{group}: classic group, Stable, 1 member, coordinator "), lines
        assert lines[2].split() == [topic, "0", "4", "10", "6", member.id, "breaker", host], lines
        assert lines[3].split() == [topic, "1", "-", "0", "-", member.id, "breaker", host], lines
        lines = cli.run("group", "describe", group, "--members")[0].splitlines()
        assert lines[2].split() == [member.id, "-", "breaker", host, "2", f"{topic}:0,1"], lines

        _, complaint = cli.run("group", "delete", group, code=FAILED)
        assert "NON_EMPTY_GROUP" in complaint and "stop its consumers" in complaint
        missing = fresh("nobody")
        _, complaint = cli.run("group", "describe", missing, code=FAILED)
        assert f"{missing}: GROUP_ID_NOT_FOUND" in complaint
        member.leave()
        assert cli.run("group", "describe", group, "--state")[0].startswith(f"{group}: classic group, Empty, 0 members")
        assert cli.json("group", "delete-offsets", group, "-t", f"{topic}:0") == [{"name": f"{topic}-0", "ok": True, "outcome": "deleted"}]
        assert cli.json("group", "describe", group)[0]["offsets"] == []
        deleted = sorted(cli.json("group", "delete", group, missing, code=FAILED), key=lambda o: o["ok"])
        assert deleted[1] == {"name": group, "ok": True, "outcome": "deleted"} and deleted[0]["error"]["name"] == "GROUP_ID_NOT_FOUND", deleted
        cli.run("topic", "delete", topic)


def group_reset():
    with node() as cli, tempfile.TemporaryDirectory() as folder:
        topic, group = fresh("reset"), fresh("group")
        cli.run("topic", "create", topic, "-p", 2, "-r", 1, "--config", "retention.ms=-1")
        now = int(time.time() * 1000)
        times = [now - age_s * 1000 for age_s in range(100, 0, -10)]  # offset 0 is 100 s old, offset 9 is 10 s old
        write_at(cli, topic, {0: times, 1: times})

        def committed():
            return {o["partition"]: o["committed"] for o in cli.json("group", "describe", group)[0]["offsets"]}

        # Nothing is changed unless told to: not even the group is made.
        assert cli.json("group", "reset", group, "-t", topic, "--to", "earliest") == {
            "group": group, "executed": False, "offsets": [{"topic": topic, "partition": p, "before": None, "after": 0} for p in (0, 1)]}
        assert "pass --execute" in cli.run("group", "reset", group, "-t", topic, "--to", "earliest", "--dry-run")[1]
        cli.run("group", "describe", group, code=FAILED)
        assert cli.json("group", "reset", group, "-t", topic, "--to", "latest", "--execute") == {
            "group": group, "executed": True, "offsets": [{"topic": topic, "partition": p, "before": None, "after": 10} for p in (0, 1)]}
        assert committed() == {0: 10, 1: 10}

        def reset(*arguments):
            cli.run("group", "reset", group, *arguments, "--execute")
            return committed()
        assert reset("-t", f"{topic}:1", "--to", "earliest") == {0: 10, 1: 0}
        assert reset("--all-topics", "--to", "4") == {0: 4, 1: 4}
        assert reset("--all-topics", "--shift", "-2") == {0: 2, 1: 2}
        assert reset("-t", f"{topic}:0", "--shift", "3") == {0: 5, 1: 2}
        assert reset("--all-topics", "--back", "55s") == {0: 5, 1: 5}
        assert reset("-t", f"{topic}:0", "--back", "PT1H") == {0: 0, 1: 5}
        assert reset("-t", topic, "--to", f"@{now - 25000}") == {0: 8, 1: 8}
        assert reset("-t", f"{topic}:1", "--to", f"@{now + 1000000}") == {0: 8, 1: 10}  # nothing is that young
        assert "outside of 0 to 10; 10 is taken" in cli.run("group", "reset", group, "--all-topics", "--to", "99")[1]
        assert reset("-t", topic, "--to", "current") == {0: 8, 1: 10}
        csv = Path(folder) / "csv"
        csv.write_text(cli.run("group", "reset", group, "--all-topics", "--shift", "-1", "--csv")[0])
        assert csv.read_text() == f"{topic},0,7\n{topic},1,9\n"
        assert reset("--from-file", csv) == {0: 7, 1: 9}
        csv.write_text(f"{topic},0\n")
        assert "is not TOPIC,PARTITION,OFFSET" in cli.run("group", "reset", group, "--from-file", csv, code=USAGE)[1]

        for wrong in (["--all-topics"], ["--to", "latest"], ["--all-topics", "--to", "1", "--shift", "1"], ["--all-topics", "--to", "soon"],
                      ["-t", topic, "--all-topics", "--to", "1"], ["-t", f"{topic}:7", "--to", "1"], ["-t", f"{topic}:x", "--to", "1"],
                      ["--all-topics", "--to", "1", "--execute", "--dry-run"]):
            cli.run("group", "reset", group, *wrong, code=USAGE)

        member = Member(cli, group, topic, [0, 1])
        out, complaint = cli.run("group", "reset", group, "--all-topics", "--to", "earliest", "--execute", code=FAILED)
        assert "nothing was changed" in complaint and "stop them" in complaint, complaint
        assert committed() == {0: 7, 1: 9}
        member.leave()
        assert reset("--all-topics", "--to", "earliest") == {0: 0, 1: 0}
        cli.run("group", "delete", group)
        cli.run("topic", "delete", topic)


def configs():
    with node() as cli:
        topic = fresh("configs")
        cli.run("topic", "create", topic, "-p", 1, "-r", 1, "--config", "retention.ms=1000")

        def setting(key):
            found = {c["key"]: c for c in cli.json("config", "describe", "topic", topic, "--all")}[key]
            assert set(found) == {"key", "value", "source", "type", "sensitive", "read_only", "synonyms", "documentation"}, found
            return found["value"], found["source"]
        assert setting("retention.ms") == ("1000", "DYNAMIC_TOPIC_CONFIG")
        assert setting("cleanup.policy") == ("delete", "DEFAULT_CONFIG")
        assert [topic and "retention.ms", "1000", "topic"] in cli.rows("config", "describe", "topic", topic)
        assert "cleanup.policy" not in cli.run("config", "describe", "topic", topic)[0]
        assert cli.json("config", "set", "topic", topic, "retention.ms=2000", "--append", "cleanup.policy=compact") == [
            {"name": f"topic {topic}", "ok": True, "outcome": "altered"}]
        assert setting("retention.ms") == ("2000", "DYNAMIC_TOPIC_CONFIG") and setting("cleanup.policy")[0] == "delete,compact"
        cli.run("config", "set", "topic", topic, "--subtract", "cleanup.policy=delete")
        assert setting("cleanup.policy") == ("compact", "DYNAMIC_TOPIC_CONFIG")
        cli.run("config", "set", "topic", topic, "retention.ms=3000", "--validate-only")
        assert setting("retention.ms")[0] == "2000"
        cli.run("config", "delete", "topic", topic, "retention.ms", "cleanup.policy")
        assert setting("retention.ms") == ("604800000", "DEFAULT_CONFIG") and setting("cleanup.policy") == ("delete", "DEFAULT_CONFIG")
        cli.run("topic", "alter", topic, "--config", "max.message.bytes=5000", "-p", 2)
        assert setting("max.message.bytes")[0] == "5000" and len(cli.json("topic", "describe", topic)[0]["partitions"]) == 2
        cli.run("topic", "alter", topic, "--delete-config", "max.message.bytes")
        assert setting("max.message.bytes")[1] == "DEFAULT_CONFIG"

        _, complaint = cli.run("config", "set", "topic", topic, "retention.msec=1", code=FAILED)
        assert "INVALID_CONFIG" in complaint and "retention.msec" in complaint and "--all" in complaint, complaint
        cli.run("config", "set", "topic", topic, code=USAGE)
        cli.run("config", "set", "thing", topic, "a=b", code=USAGE)
        cli.run("config", "describe", "broker", "one", code=USAGE)
        assert "cluster nodes" in cli.run("config", "describe", "broker", "4711", code=FAILED)[1]
        assert "has no setting nope" in cli.run("config", "describe", "topic", topic, "nope", code=FAILED)[1]
        cli.run("config", "describe", "topic", fresh("missing"), code=FAILED)
        cli.run("topic", "delete", topic)


def broker_configs():
    with node() as cli:
        node_id = cli.json("cluster", "nodes")[0]["broker"]

        def source():
            found = cli.json("config", "describe", "broker", node_id, "log.retention.ms")
            return found[0]["value"], found[0]["source"]
        before = source()
        cli.run("config", "set", "broker", "default", "log.retention.ms=7200000")
        wait_until(lambda: source() == ("7200000", "DYNAMIC_DEFAULT_BROKER_CONFIG"), source)
        cli.run("config", "set", "broker", node_id, "log.retention.ms=7300000")
        wait_until(lambda: source() == ("7300000", "DYNAMIC_BROKER_CONFIG"), source)
        assert ["log.retention.ms", "7200000", "all brokers"] in cli.rows("config", "describe", "broker", "default")
        cli.run("config", "delete", "broker", node_id, "log.retention.ms")
        cli.run("config", "delete", "broker", "default", "log.retention.ms")
        wait_until(lambda: source() == before, source)
        group = fresh("group")
        cli.run("config", "set", "group", group, "consumer.session.timeout.ms=50000")
        assert cli.rows("config", "describe", "group", group) == [["consumer.session.timeout.ms", "50000", "group"]]
        assert {"kind": "group", "name": group} in cli.json("config", "list", "group")
        assert {"kind": "broker", "name": str(node_id)} in cli.json("config", "list")
        cli.run("config", "delete", "group", group, "consumer.session.timeout.ms")


def wait_until(condition, what, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def quotas():
    with node() as cli:
        user, client = fresh("user"), fresh("client")
        cli.run("quota", "set", "--user", user, "producer_byte_rate=1024", "request_percentage=12.5")
        cli.run("quota", "set", "--user", user, "--client-id", client, "request_percentage=50")
        cli.run("quota", "set", "--default-client-id", "producer_byte_rate=4096")

        def listed(*arguments):
            return cli.json("quota", "list", *arguments)
        alone = {"entity": {"user": user}, "quotas": {"producer_byte_rate": 1024, "request_percentage": 12.5}}
        both = {"entity": {"user": user, "client-id": client}, "quotas": {"request_percentage": 50}}
        wait_until(lambda: {"entity": {"client-id": None}, "quotas": {"producer_byte_rate": 4096}} in listed(), listed)
        assert listed("--user", user) == [alone, both]
        assert listed("--user", user, "--exact") == [alone]
        assert listed("--user", user, "--client-id", client) == [both]
        assert listed("--default-client-id") == [{"entity": {"client-id": None}, "quotas": {"producer_byte_rate": 4096}}]
        assert cli.rows("quota", "list", "--user", user, "--exact") == [
            [f"user={user}", "producer_byte_rate", "1024"], [f"user={user}", "request_percentage", "12.5"]]
        cli.run("quota", "remove", "--user", user, "producer_byte_rate", "request_percentage")
        cli.run("quota", "remove", "--user", user, "--client-id", client, "request_percentage")
        cli.run("quota", "remove", "--default-client-id", "producer_byte_rate")
        wait_until(lambda: listed("--user", user) == [] and listed("--default-client-id") == [], listed)
        assert "whose quota" in cli.run("quota", "set", "producer_byte_rate=1", code=USAGE)[1]
        assert "not a number" in cli.run("quota", "set", "--user", user, "producer_byte_rate=fast", code=USAGE)[1]
        assert "exclude each other" in cli.run("quota", "set", "--user", user, "--default-user", "producer_byte_rate=1", code=USAGE)[1]
        cli.run("quota", "set", "--user", user, "speed=1", code=FAILED)


def cluster():
    with node() as cli:
        status = cli.json("cluster", "status")
        assert set(status) == {"cluster_id", "controller", "controller_epoch", "brokers", "brokers_fenced", "topics", "partitions",
                               "partitions_under_replicated", "partitions_offline"}, status
        nodes = cli.json("cluster", "nodes")
        assert status["brokers"] == len(nodes) and all(set(n) == {"broker", "host", "port", "rack", "fenced"} for n in nodes), nodes
        assert f"{nodes[0]['host']}:{nodes[0]['port']}" == cli.bootstrap.split(",")[0]
        quorum = cli.json("cluster", "quorum")
        assert set(quorum) == {"leader", "epoch", "high_watermark", "replicas"} and quorum["leader"] == status["controller"], quorum
        assert [r["lag"] for r in quorum["replicas"] if r["role"] == "leader"] == [0], quorum
        features = {f["feature"]: f for f in cli.json("cluster", "features")["features"]}
        assert features["group.version"]["level"] == 1 and features["metadata.version"]["supported_max"] >= 29, features
        before = status["topics"], status["partitions"]
        topic = fresh("cluster")
        cli.run("topic", "create", topic, "-p", 7, "-r", 1)
        status = cli.json("cluster", "status")
        assert (status["topics"], status["partitions"]) == (before[0] + 1, before[1] + 7), status
        # One replica leads already; asked for all, what has its leader is not named.
        assert cli.json("cluster", "elect-leaders", "-t", f"{topic}:0,3") == [
            {"name": f"{topic}-{p}", "ok": True, "outcome": "unchanged"} for p in (0, 3)]
        assert cli.json("cluster", "elect-leaders") == []
        assert "--topic" in cli.run("cluster", "elect-leaders", "--unclean", code=USAGE)[1]
        cli.run("topic", "delete", topic)


def log_dirs():
    with node() as cli:
        topic = fresh("dirs")
        cli.run("topic", "create", topic, "-p", 2, "-r", 1)
        cli.write(topic, ["x" * 100] * 10, "-p", 0)
        directories = cli.json("log", "dirs", "-t", topic)
        assert all(set(d) == {"broker", "directory", "bytes", "total_bytes", "usable_bytes", "cordoned", "error", "partitions"} for d in directories)
        held = {p["partition"]: p for d in directories for p in d["partitions"]}
        assert set(held) == {0, 1} and held[0]["bytes"] > 1000 and held[1]["bytes"] == 0 and held[0]["topic"] == topic, held
        assert all(d["total_bytes"] > d["usable_bytes"] > 0 and d["error"] is None for d in directories)
        assert len(cli.rows("log", "dirs", "-p", "-t", topic)) == 2
        assert all(row[-1] == "online" for row in cli.rows("log", "dirs"))
        assert "cluster nodes" in cli.run("log", "dirs", "--broker", 4711, code=FAILED)[1]
        cli.run("topic", "delete", topic)


def old_broker():
    """Each command finds a version that a broker of 2019 knows, or says that the broker is too old."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with Broker(group_initial_rebalance_delay_ms=0, advertised_listeners=f"PLAINTEXT://127.0.0.1:{port}") as broker:
            broker.start()
            old = OldBroker(listener, ("127.0.0.1", broker.port))
            cli = Cli(f"127.0.0.1:{port}")
            cli.run("topic", "create", "old", "-p", 2, "-r", 1)
            cli.write("old", range(10), "-p", 0)
            assert cli.run("consume", "old", "--from", "earliest", "-e")[0].split() == [str(i) for i in range(10)]
            cli.run("topic", "alter", "old", "-p", 3)
            assert [o["latest"] for o in cli.json("topic", "offsets", "old")] == [10, 0, 0]
            assert "too old" in cli.run("topic", "offsets", "old", "--at", "max-timestamp", code=FAILED)[1]
            cli.run("group", "reset", "ancient", "-t", "old:0", "--to", "4", "--execute")
            member = Member(cli, "ancient", "old", [0])
            assert [g["type"] for g in cli.json("group", "list")] == ["classic"]
            assert "too old" in cli.run("group", "list", "--state", "Stable", code=FAILED)[1]
            shown = cli.json("group", "describe", "ancient", "missing", code=FAILED)
            assert [(g["name"], g["state"], len(g["members"])) for g in shown] == [("ancient", "Stable", 1)], shown
            assert [(o["committed"], o["lag"]) for o in shown[0]["offsets"]] == [(4, 6)], shown
            member.leave()
            cli.run("group", "delete", "ancient")
            assert len(cli.json("cluster", "nodes")) == 1 and cli.json("cluster", "status")["partitions"] >= 3
            assert "does not serve" in cli.run("cluster", "quorum", code=FAILED)[1]
            assert "does not serve" in cli.run("quota", "list", code=FAILED)[1]
            assert cli.json("cluster", "features")["features"] == []
            cli.run("topic", "delete", "old")
            assert old.too_new == [], old.too_new


def old_broker_configs():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with Broker(advertised_listeners=f"PLAINTEXT://127.0.0.1:{port}") as broker:
            broker.start()
            old = OldBroker(listener, ("127.0.0.1", broker.port))
            cli = Cli(f"127.0.0.1:{port}")
            cli.run("topic", "create", "old", "-p", 1, "-r", 1)
            cli.run("config", "set", "topic", "old", "retention.ms=5000")
            assert cli.rows("config", "describe", "topic", "old", "retention.ms") == [["retention.ms", "5000", "topic"]]
            assert [len(d["partitions"]) for d in cli.json("log", "dirs", "-t", "old")] == [1]
            assert cli.json("log", "dirs")[0]["total_bytes"] is None
            assert old.too_new == [], old.too_new


def unreachable():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        cli = Cli(f"127.0.0.1:{closed.getsockname()[1]}")
        for command in (["topic", "list"], ["group", "list"], ["cluster", "status"], ["config", "describe", "topic", "x"],
                        ["quota", "list"], ["log", "dirs"], ["group", "reset", "g", "-t", "x", "--to", "1"]):
            out, complaint = cli.run(*command, "--json", code=UNREACHABLE)
            assert out == "" and "--bootstrap" in complaint and "MILLRACE_BOOTSTRAP" in complaint, complaint


def wrong_advertised_address():
    with Broker(advertised_listeners="PLAINTEXT://127.0.0.1:1") as broker:
        broker.start()
        cli = Cli(f"127.0.0.1:{broker.port}")
        cli.run("cluster", "nodes")
        out, complaint = cli.run("group", "list", code=UNREACHABLE)
        assert out == "" and "broker 1 does not answer at 127.0.0.1:1, the address that it advertises" in complaint, complaint
        assert "advertised.listeners" in complaint and "--bootstrap" not in complaint, complaint


def client_properties():
    with node() as cli, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "client.properties"
        nowhere = Cli(None)
        file.write_text(f"# a comment\nbootstrap.servers = {cli.bootstrap}\nclient.id=me\nrequest.timeout.ms=5000\nsecurity.protocol=PLAINTEXT\n")
        nowhere.run("topic", "list", "--command-config", file)
        nowhere.run("topic", "list", "--command-config", file, "-b", "127.0.0.1:1", code=UNREACHABLE)
        file.write_text("bootstrap.server=x\n")
        assert f"{file}:1: bootstrap.server is not understood" in nowhere.run("topic", "list", "--command-config", file, code=USAGE)[1]
        file.write_text("\nsecurity.protocol=SASL_SSL\n")
        assert "PLAINTEXT only" in nowhere.run("topic", "list", "--command-config", file, code=USAGE)[1]


def complete(shell, *words):
    """What a shell proposes for the last of `words`."""
    if shell == "bash":
        line = " ".join(f"'{w}'" for w in words)
        script = (f"source <({MILLRACE} completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _millrace; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        out = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    else:
        script = f"{MILLRACE} completion fish | source; complete -C '{' '.join(words)}'"
        out = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True)
    assert out.stderr == "", out.stderr
    return [line.split("\t")[0] for line in out.stdout.splitlines() if line]


def check_completion(shell):
    assert {"serve", "topic", "group", "config", "quota", "cluster", "log"} <= set(complete(shell, "millrace", ""))
    assert "reference" not in complete(shell, "millrace", "")
    assert complete(shell, "millrace", "top") == ["topic"]
    assert {"create", "alter", "offsets"} <= set(complete(shell, "millrace", "topic", ""))
    assert complete(shell, "millrace", "group", "reset", "g", "--from") == ["--from-file"]
    assert "--retention" not in complete(shell, "millrace", "topic", "create", "--")
    assert set(complete(shell, "millrace", "group", "list", "--type", "")) == {"classic", "consumer", "share", "streams"}
    assert set(complete(shell, "millrace", "completion", "")) >= {"bash", "zsh", "fish"}
    assert "broker" in complete(shell, "millrace", "config", "describe", "b")


def bash_completion():
    check_completion("bash")


def fish_completion():
    check_completion("fish")


def zsh_completion():
    """Zsh has no way to ask for proposals without a terminal: a pseudo-terminal is given to it."""
    import pty
    import select
    script = subprocess.run([MILLRACE, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "_millrace").write_text(script)
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", ZDOTDIR=folder)
            os.execvp("zsh", ["zsh", "-f", "-i"])

        def talk(line, *expected):
            os.write(terminal, line.encode())
            out, deadline = "", time.monotonic() + 30
            while not all(word in out for word in expected):
                assert time.monotonic() < deadline, (line, expected, out)
                if select.select([terminal], [], [], 0.1)[0]:
                    out += os.read(terminal, 65536).decode(errors="replace")
        talk(f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; LISTMAX=1000; print set''up\n", "setup")
        talk("millrace group \t", "describe", "delete-offsets", "reset")
        talk("\x15millrace group list --type s\t", "share", "streams")
        talk("\x15millrace topic cr\t", "eate")
        os.close(terminal)
        os.waitpid(pid, 0)


def reference():
    """The list of commands in the docs is what the binary prints."""
    docs = (ROOT / "docs/command-line.md").read_text()
    written = docs.split("<!-- millrace reference -->\n", 1)[1]
    printed = subprocess.run([MILLRACE, "reference"], capture_output=True, text=True, check=True).stdout
    assert written.strip() == printed.strip(), "run: scripts/command-line-docs"


if __name__ == "__main__":
    main(topics, topic_offsets, groups, group_reset, configs, broker_configs, quotas, cluster, log_dirs, old_broker,
         old_broker_configs, unreachable, wrong_advertised_address, client_properties, bash_completion, fish_completion, zsh_completion, reference)
