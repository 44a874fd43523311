#!/usr/bin/env python3
"""Kafka's own command line tools, unchanged, against one node: see scripts/kafka-tools.

Where `millrace` has a command for the same thing, both are asked about the same cluster and must agree.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from wire import Broker, ROOT  # noqa: E402

TOOL_TIMEOUT_S = 90


class Failure(Exception):
    pass


class Tools:
    def __init__(self, folder, bootstrap):
        folder = Path(folder)
        self.folder = folder / "bin" if (folder / "bin/kafka-topics.sh").exists() else folder
        if not (self.folder / "kafka-topics.sh").exists():
            raise SystemExit(f"{folder} has no kafka-topics.sh")
        self.bootstrap = bootstrap
        self.passed = self.failed = 0
        self.environment = dict(os.environ, KAFKA_HEAP_OPTS="-Xmx256m", HEAP="256m", TIER="1")

    def command(self, tool, *arguments):
        return [str(self.folder / f"{tool}.sh"), "--bootstrap-server", self.bootstrap, *map(str, arguments)]

    def run(self, tool, *arguments, stdin="", code=0):
        """What it printed on both channels; Failure when it ends with another code (None: any)."""
        begin = [str(self.folder / f"{tool}.sh")]
        if tool == "kafka-cluster":  # takes its verb first
            begin, arguments = begin + [arguments[0]], arguments[1:]
        command = begin + ["--bootstrap-server", self.bootstrap, *map(str, arguments)]
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=self.environment, timeout=TOOL_TIMEOUT_S,
                                  check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"no end within {TOOL_TIMEOUT_S} s: {error.stdout!r} {error.stderr!r}") from error
        out = done.stdout + done.stderr
        if code is not None and done.returncode != code:
            raise Failure(f"ended with {done.returncode}, not {code}:\n{out}")
        return out

    def check(self, name, function):
        try:
            function()
        except (Failure, AssertionError, KeyError, IndexError, ValueError) as problem:
            self.failed += 1
            print(f"FAIL {name}\n  " + str(problem or repr(problem)).strip().replace("\n", "\n  ")[:1500], flush=True)
        else:
            self.passed += 1
            print(f"ok   {name}", flush=True)

    def expect(self, name, tool, *arguments, has=(), lacks=(), stdin="", code=0):
        """One run; what it prints must have and lack these regular expressions."""
        def look():
            out = self.run(tool, *arguments, stdin=stdin, code=code)
            for pattern in [has] if isinstance(has, str) else has:
                if not re.search(pattern, out, re.M):
                    raise Failure(f"nothing matches {pattern!r} in:\n{out}")
            for pattern in [lacks] if isinstance(lacks, str) else lacks:
                if re.search(pattern, out, re.M):
                    raise Failure(f"{pattern!r} matches in:\n{out}")
        self.check(f"{tool} {name}", look)

    def ours(self, *arguments):
        millrace = os.environ.get("MILLRACE", str(ROOT / "build/release/millrace"))
        done = subprocess.run([millrace, *map(str, arguments), "--json", "--bootstrap", self.bootstrap], capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode:
            raise Failure(f"millrace {arguments} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def agree(self, name, theirs, ours):
        def look():
            left, right = theirs(), ours()
            if left != right:
                raise Failure(f"theirs: {left}\nours:   {right}")
        self.check(f"millrace agrees: {name}", look)

    @contextlib.contextmanager
    def background(self, tool, *arguments):
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen(self.command(tool, *arguments), stdout=out, stderr=subprocess.STDOUT, env=self.environment,
                                       start_new_session=True)
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def table(out, head):
    """Lines under the line that begins with `head`, split at blanks."""
    lines = out.splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip().startswith(head)), None)
    if start is None:
        raise Failure(f"no line begins with {head!r} in:\n{out}")
    return [line.split() for line in lines[start + 1:] if line.strip()]


def topics(t):
    t.expect("--create", "kafka-topics", "--create", "--topic", "tools", "--partitions", 3, "--replication-factor", 1, "--config",
             "retention.ms=3600000", has=r"^Created topic tools\.$")
    t.expect("--create of one that exists", "kafka-topics", "--create", "--topic", "tools", code=1,
             has=[r"Topic 'tools' already exists\.", "TopicExistsException"])
    t.expect("--create --if-not-exists", "kafka-topics", "--create", "--topic", "tools", "--if-not-exists", lacks="Error|Exception")
    t.expect("--create with an unknown setting", "kafka-topics", "--create", "--topic", "odd", "--config", "retention.msec=1", code=1,
             has="Unknown topic config name: retention.msec")
    t.expect("--create with assignments", "kafka-topics", "--create", "--topic", "assigned", "--replica-assignment", "1,1", has="^Created topic assigned")
    t.expect("--list", "kafka-topics", "--list", has=["^tools$", "^assigned$"])
    t.expect("--describe", "kafka-topics", "--describe", "--topic", "tools",
             has=[r"Topic: tools\s+TopicId: [\w-]{22}\s+PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=3600000",
                  r"Topic: tools\s+Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1"])
    t.expect("--describe --under-replicated-partitions", "kafka-topics", "--describe", "--under-replicated-partitions", lacks="Topic:|Exception")
    t.expect("--describe --topics-with-overrides", "kafka-topics", "--describe", "--topics-with-overrides", has="Topic: tools")
    t.expect("--alter --partitions", "kafka-topics", "--alter", "--topic", "tools", "--partitions", 5, lacks="Error|Exception")
    t.expect("--alter to fewer", "kafka-topics", "--alter", "--topic", "tools", "--partitions", 2, code=1,
             has=r"The topic tools currently has 5 partition\(s\); 2 would not be an increase")
    t.agree("topic describe", lambda: sorted(
        (int(p), int(leader)) for p, leader in re.findall(r"Topic: tools\s+Partition: (\d+)\s+Leader: (\d+)", t.run("kafka-topics", "--describe", "--topic", "tools"))),
        lambda: [(p["partition"], p["leader"]) for p in t.ours("topic", "describe", "tools")[0]["partitions"]])
    t.expect("--delete", "kafka-topics", "--delete", "--topic", "assigned", lacks="Error|Exception")
    t.expect("--delete of one that is gone", "kafka-topics", "--delete", "--topic", "assigned", code=1, has="does not exist as expected")
    t.expect("--list after it", "kafka-topics", "--list", has="^tools$", lacks="^assigned$")


def configs(t):
    t.run("kafka-topics", "--create", "--topic", "settings", "--partitions", 1, "--if-not-exists")
    entity = ["--entity-type", "topics", "--entity-name", "settings"]
    t.expect("--alter topic", "kafka-configs", "--alter", *entity, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]",
             has="Completed updating config for topic settings")
    t.expect("--describe topic", "kafka-configs", "--describe", *entity,
             has=[r"^Dynamic configs for topic settings are:", r"retention\.ms=5000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention\.ms=5000",
                  "cleanup.policy=compact,delete"])
    t.expect("--describe --all topic", "kafka-configs", "--describe", "--all", *entity,
             has=[r"^All configs for topic settings are:", r"segment\.bytes=1073741824 sensitive=false synonyms=\{DEFAULT_CONFIG:log\.segment\.bytes=1073741824\}"])
    t.agree("config describe --all", lambda: dict(
        re.findall(r"^  ([\w.]+)=(.*?) sensitive=", t.run("kafka-configs", "--describe", "--all", *entity), re.M)),
        lambda: {c["key"]: "null" if c["value"] is None else c["value"] for c in t.ours("config", "describe", "topic", "settings", "--all")})
    t.expect("--alter --delete-config", "kafka-configs", "--alter", *entity, "--delete-config", "retention.ms", has="Completed updating")
    t.expect("--describe after it", "kafka-configs", "--describe", *entity, has="cleanup.policy", lacks="retention.ms=5000")
    t.expect("--alter with an unknown setting", "kafka-configs", "--alter", *entity, "--add-config", "nonsense=1", code=1,
             has="Unknown topic config name: nonsense")
    t.expect("--describe --all broker", "kafka-configs", "--describe", "--all", "--entity-type", "brokers", "--entity-name", 1,
             has=[r"All configs for broker 1 are:", r"STATIC_BROKER_CONFIG:node\.id=1", r"^  num\.partitions=1 "])
    t.expect("--alter of one broker", "kafka-configs", "--alter", "--entity-type", "brokers", "--entity-name", 1, "--add-config",
             "log.retention.ms=7200000", has="Completed updating config for broker 1")
    t.expect("--alter of all brokers", "kafka-configs", "--alter", "--entity-type", "brokers", "--entity-default", "--add-config",
             "log.retention.ms=7300000", has="Completed updating default config for brokers in the cluster")
    t.expect("--describe of one broker", "kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", 1,
             has=r"log\.retention\.ms=7200000 sensitive=false synonyms=\{DYNAMIC_BROKER_CONFIG:log\.retention\.ms=7200000, DYNAMIC_DEFAULT_BROKER_CONFIG:log\.retention\.ms=7300000")
    t.expect("--describe of all brokers", "kafka-configs", "--describe", "--entity-type", "brokers", "--entity-default", has="log.retention.ms=7300000")
    t.expect("--alter of what only a restart changes", "kafka-configs", "--alter", "--entity-type", "brokers", "--entity-name", 1, "--add-config",
             "node.id=7", code=1, has="Cannot update these configs dynamically")
    for whom in (["--entity-name", 1], ["--entity-default"]):
        t.expect(f"--delete-config {whom[0]}", "kafka-configs", "--alter", "--entity-type", "brokers", *whom, "--delete-config", "log.retention.ms",
                 has="Completed updating")
    t.expect("--alter group", "kafka-configs", "--alter", "--entity-type", "groups", "--entity-name", "any", "--add-config",
             "consumer.session.timeout.ms=50000", has="Completed updating config for group any")
    t.expect("--describe group", "kafka-configs", "--describe", "--entity-type", "groups", "--entity-name", "any", has="consumer.session.timeout.ms=50000")
    t.expect("--alter client-metrics", "kafka-configs", "--alter", "--entity-type", "client-metrics", "--entity-name", "m", "--add-config",
             "interval.ms=60000", has="Completed updating config for client-metric m")
    t.expect("--describe client-metrics", "kafka-configs", "--describe", "--entity-type", "client-metrics", "--entity-name", "m", has="interval.ms=60000")
    t.expect("--describe broker-loggers", "kafka-configs", "--describe", "--entity-type", "broker-loggers", "--entity-name", 1,
             has=[r"Dynamic configs for broker-logger 1 are:|All configs for broker-logger 1 are:", r"=INFO sensitive=false"])


def quotas(t):
    t.expect("--alter user", "kafka-configs", "--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config",
             "producer_byte_rate=1048576,request_percentage=50", has="Completed updating config for user alice")
    t.expect("--alter client and user", "kafka-configs", "--alter", "--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients",
             "--entity-name", "app", "--add-config", "consumer_byte_rate=2048", has="Completed updating")
    t.expect("--alter default client", "kafka-configs", "--alter", "--entity-type", "clients", "--entity-default", "--add-config",
             "consumer_byte_rate=4096", has="Completed updating default config for clients")
    t.expect("--alter ip", "kafka-configs", "--alter", "--entity-type", "ips", "--entity-name", "127.0.0.9", "--add-config",
             "connection_creation_rate=10", has="Completed updating config for ip 127.0.0.9")
    t.expect("--describe user", "kafka-configs", "--describe", "--entity-type", "users", "--entity-name", "alice",
             has=[r"Quota configs for user-principal 'alice' are", r"producer_byte_rate=1048576\.0", r"request_percentage=50\.0"])
    t.expect("--describe clients", "kafka-configs", "--describe", "--entity-type", "clients", has=r"the default client-id are consumer_byte_rate=4096\.0")
    t.expect("--describe ips", "kafka-configs", "--describe", "--entity-type", "ips", has=r"ip '127\.0\.0\.9' are connection_creation_rate=10\.0")
    t.agree("quota list", lambda: {"producer_byte_rate": 1048576, "request_percentage": 50},
            lambda: t.ours("quota", "list", "--user", "alice", "--exact")[0]["quotas"])
    t.expect("--delete-config user", "kafka-configs", "--alter", "--entity-type", "users", "--entity-name", "alice", "--delete-config",
             "producer_byte_rate,request_percentage", has="Completed updating")
    t.expect("--describe user after it", "kafka-configs", "--describe", "--entity-type", "users", "--entity-name", "alice", lacks="producer_byte_rate")


def console(t):
    t.run("kafka-topics", "--create", "--topic", "console", "--partitions", 2, "--if-not-exists")
    t.expect("of lines", "kafka-console-producer", "--topic", "console", stdin="".join(f"line {i}\n" for i in range(100)), lacks="Error|Exception|WARN")
    t.expect("with keys and compression", "kafka-console-producer", "--topic", "console", "--compression-codec", "zstd", "--reader-property",
             "parse.key=true", "--reader-property", "key.separator=:", stdin="".join(f"k{i}:keyed {i}\n" for i in range(100)), lacks="Error|Exception|WARN")
    t.expect("from the beginning", "kafka-console-consumer", "--topic", "console", "--from-beginning", "--max-messages", 200, "--timeout-ms", 30000,
             has=["^line 0$", "^line 99$", "^keyed 99$", "Processed a total of 200 messages"])
    t.expect("of one partition from an offset", "kafka-console-consumer", "--topic", "console", "--partition", 0, "--offset", 1, "--max-messages", 3,
             "--timeout-ms", 30000, "--formatter-property", "print.offset=true", has=[r"^Offset:1\s", r"^Offset:3\s", "Processed a total of 3 messages"])
    t.expect("in a group", "kafka-console-consumer", "--topic", "console", "--group", "console-group", "--from-beginning", "--max-messages", 200,
             "--timeout-ms", 30000, "--formatter-property", "print.key=true", has=[r"^k7\s+keyed 7$", "Processed a total of 200 messages"])
    t.expect("in the group again", "kafka-console-consumer", "--topic", "console", "--group", "console-group", "--timeout-ms", 6000,
             has="Processed a total of 0 messages", code=None)


def groups(t):
    t.run("kafka-topics", "--create", "--topic", "grouped", "--partitions", 2, "--if-not-exists")
    t.run("kafka-console-producer", "--topic", "grouped", "--reader-property", "parse.key=true", "--reader-property", "key.separator=:",
          stdin="".join(f"k{i}:v{i}\n" for i in range(50)))
    name = ["--group", "readers"]
    with t.background("kafka-console-consumer", "--topic", "grouped", *name, "--from-beginning", "--command-property", "auto.commit.interval.ms=500"):
        def is_stable():
            out = t.run("kafka-consumer-groups", "--describe", *name, "--members", code=None)
            return any(row[:1] == ["readers"] and row[4:5] == ["2"] for row in (line.split() for line in out.splitlines()))
        deadline = time.monotonic() + 60
        while not is_stable():
            if time.monotonic() > deadline:
                raise Failure("no member came")
        time.sleep(2)  # an automatic commit
        t.expect("--list", "kafka-consumer-groups", "--list", has="^readers$")
        t.expect("--list --state", "kafka-consumer-groups", "--list", "--state", has=r"^readers\s+Classic\s+Stable|^readers\s+Stable")
        t.expect("--list --state Stable", "kafka-consumer-groups", "--list", "--state", "Stable", has="^readers ")
        t.expect("--list --state Empty", "kafka-consumer-groups", "--list", "--state", "Empty", lacks="^readers ")
        t.expect("--list --type classic", "kafka-consumer-groups", "--list", "--type", "classic", has=r"^readers\s+Classic")
        t.expect("--describe", "kafka-consumer-groups", "--describe", *name,
                 has=[r"GROUP\s+TOPIC\s+PARTITION\s+.*CURRENT-OFFSET\s+LOG-END-OFFSET\s+LAG\s+CONSUMER-ID\s+HOST\s+CLIENT-ID",
                      r"^readers\s+grouped\s+0\s+\d+\s+\d+\s+0\s+console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer"])
        t.expect("--describe --members", "kafka-consumer-groups", "--describe", *name, "--members",
                 has=[r"GROUP\s+CONSUMER-ID\s+HOST\s+CLIENT-ID\s+#PARTITIONS", r"^readers\s+console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer\s+2"])
        t.expect("--describe --members --verbose", "kafka-consumer-groups", "--describe", *name, "--members", "--verbose", has=r"grouped[:(]0,\s*1")
        t.expect("--describe --state", "kafka-consumer-groups", "--describe", *name, "--state",
                 has=[r"GROUP\s+COORDINATOR \(ID\)\s+ASSIGNMENT-STRATEGY\s+STATE\s+#MEMBERS", r"^readers\s+127\.0\.0\.1:\d+\s*\(1\)\s+range\s+Stable\s+1"])
        t.agree("group describe", lambda: sorted(
            (row[1], int(row[2]), int(row[3]), int(row[4]), int(row[5]), row[6]) for row in table(t.run("kafka-consumer-groups", "--describe", *name), "GROUP")),
            lambda: [(o["topic"], o["partition"], o["committed"], o["end"], o["lag"], o["member"])
                     for o in t.ours("group", "describe", "readers")[0]["offsets"]])
        t.expect("--reset-offsets while it has members", "kafka-consumer-groups", "--reset-offsets", *name, "--topic", "grouped", "--to-earliest",
                 "--execute", has="Assignments can only be reset if the group 'readers' is inactive, but the current state is Stable", code=None)
        t.expect("--delete while it has members", "kafka-consumer-groups", "--delete", *name, code=None, has="not empty")
    deadline = time.monotonic() + 60
    while "Empty" not in t.run("kafka-consumer-groups", "--describe", *name, "--state", code=None):
        if time.monotonic() > deadline:
            raise Failure("the group does not become empty")
    t.expect("--describe without members", "kafka-consumer-groups", "--describe", *name,
             has=[r"Consumer group 'readers' has no active members", r"^readers\s+grouped\s+0\s+\d+\s+\d+\s+0\s+-\s+-\s+-"])
    t.expect("--describe --all-groups", "kafka-consumer-groups", "--describe", "--all-groups", has=r"^readers\s+grouped")
    t.expect("--describe of none", "kafka-consumer-groups", "--describe", "--group", "nobody", has="nobody.*(does not exist|not found)", code=None)

    def reset(label, *arguments, expected, execute=True):
        def look():
            out = t.run("kafka-consumer-groups", "--reset-offsets", *name, "--topic", "grouped", *arguments, "--execute" if execute else "--dry-run")
            rows = {int(row[2]): int(row[3]) for row in table(out, "GROUP")}
            if rows != expected:
                raise Failure(f"{rows}, not {expected}")
            if execute:
                ours = {o["partition"]: o["committed"] for o in t.ours("group", "describe", "readers")[0]["offsets"]}
                if ours != expected:
                    raise Failure(f"{ours} is committed, not {expected}")
        t.check(f"kafka-consumer-groups --reset-offsets {label}", look)
    ends = {o["partition"]: o["latest"] for o in t.ours("topic", "offsets", "grouped")}
    reset("--dry-run", "--to-earliest", expected={0: 0, 1: 0}, execute=False)
    t.agree("committed offsets after --dry-run", lambda: ends, lambda: {o["partition"]: o["committed"] for o in t.ours("group", "describe", "readers")[0]["offsets"]})
    reset("--to-earliest", "--to-earliest", expected={0: 0, 1: 0})
    reset("--to-latest", "--to-latest", expected=ends)
    reset("--shift-by", "--shift-by", "-3", expected={p: end - 3 for p, end in ends.items()})
    reset("--to-offset", "--to-offset", "5", expected={0: 5, 1: 5})
    reset("--to-current", "--to-current", expected={0: 5, 1: 5})
    reset("--by-duration", "--by-duration", "PT1H", expected={0: 0, 1: 0})
    reset("--to-datetime", "--to-datetime", "2100-01-01T00:00:00.000", expected=ends)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "offsets.csv"
        file.write_text("grouped,0,2\ngrouped,1,1\n")

        def from_file():
            t.run("kafka-consumer-groups", "--reset-offsets", *name, "--from-file", file, "--execute")
            ours = {o["partition"]: o["committed"] for o in t.ours("group", "describe", "readers")[0]["offsets"]}
            if ours != {0: 2, 1: 1}:
                raise Failure(str(ours))
        t.check("kafka-consumer-groups --reset-offsets --from-file", from_file)
    t.expect("--reset-offsets --export", "kafka-consumer-groups", "--reset-offsets", *name, "--all-topics", "--to-current", "--export", "--dry-run",
             has=['^"?grouped"?,0,2$', '^"?grouped"?,1,1$'])
    t.expect("--delete-offsets", "kafka-consumer-groups", "--delete-offsets", *name, "--topic", "grouped:1", has=r"grouped\s+1\s+Successful")
    t.expect("--list", "kafka-groups", "--list", has=[r"GROUP\s+TYPE\s+PROTOCOL", r"^readers\s+Classic\s+consumer"])
    t.expect("--list --consumer", "kafka-groups", "--list", "--consumer", has=r"^readers\s+Classic\s+consumer")
    t.expect("--list --share", "kafka-groups", "--list", "--share", lacks="^readers")
    t.expect("--list --protocol", "kafka-groups", "--list", "--protocol", "consumer", has="^readers ")
    t.agree("group list", lambda: sorted((row[0], row[1].lower(), row[2]) for row in table(t.run("kafka-groups", "--list"), "GROUP")),
            lambda: [(g["name"], g["type"], g["protocol"] or "") for g in t.ours("group", "list")])
    t.expect("--delete", "kafka-consumer-groups", "--delete", *name, has=r"Deletion of requested consumer groups \('readers'\) was successful")
    t.expect("--delete of one that is gone", "kafka-consumer-groups", "--delete", *name, code=None, has="GroupIdNotFoundException|not found|does not exist")


def offsets(t):
    t.run("kafka-topics", "--create", "--topic", "counted", "--partitions", 2, "--if-not-exists")
    t.run("kafka-console-producer", "--topic", "counted", "--reader-property", "parse.key=true", "--reader-property", "key.separator=:",
          stdin="".join(f"k{i}:v{i}\n" for i in range(40)))

    def theirs(*arguments):
        out = t.run("kafka-get-offsets", "--topic", "counted", *arguments)
        return {int(p): int(o) if o else None for p, o in re.findall(r"^counted:(\d+):(-?\d*)$", out, re.M)}

    def ours(*arguments):
        return {o["partition"]: o["offset"] for o in t.ours("topic", "offsets", "counted", *arguments)}
    t.agree("offsets, latest", lambda: theirs(), lambda: ours("--at", "latest"))
    t.agree("offsets, earliest", lambda: theirs("--time", "-2"), lambda: ours("--at", "earliest"))
    t.agree("offsets, max-timestamp", lambda: theirs("--time", "-3"), lambda: ours("--at", "max-timestamp"))
    t.agree("offsets, of a time", lambda: theirs("--time", "1000"), lambda: ours("--at", "@1000"))
    t.agree("offsets, earliest-local", lambda: theirs("--time", "earliest-local"), lambda: ours("--at", "earliest-local"))
    t.expect("--topic-partitions", "kafka-get-offsets", "--topic-partitions", "counted:1", has=r"^counted:1:\d+$", lacks="^counted:0")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "offsets.json"
        file.write_text(json.dumps({"version": 1, "partitions": [{"topic": "counted", "partition": 0, "offset": 3}]}))
        t.expect("--offset-json-file", "kafka-delete-records", "--offset-json-file", file, has=r"partition: counted-0\s+low_watermark: 3")
        t.agree("offsets after it", lambda: theirs("--time", "-2"), lambda: {0: 3, 1: 0})
        file.write_text(json.dumps({"version": 1, "partitions": [{"topic": "counted", "partition": 0, "offset": 3000}]}))
        t.expect("past the end", "kafka-delete-records", "--offset-json-file", file, has="OffsetOutOfRangeException", code=None)


def log_dirs(t):
    t.run("kafka-topics", "--create", "--topic", "sized", "--partitions", 2, "--if-not-exists")
    t.run("kafka-console-producer", "--topic", "sized", stdin="x" * 2000 + "\n")

    def theirs():
        out = t.run("kafka-log-dirs", "--describe", "--topic-list", "sized")
        document = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
        return sorted((b["broker"], d["logDir"], p["partition"], p["size"]) for b in document["brokers"] for d in b["logDirs"] for p in d["partitions"])
    t.agree("log dirs", theirs, lambda: sorted((d["broker"], d["directory"], f"{p['topic']}-{p['partition']}", p["bytes"])
                                               for d in t.ours("log", "dirs", "-t", "sized") for p in d["partitions"]))
    t.expect("--describe", "kafka-log-dirs", "--describe", has=[r'"version":1', r'"error":null', "sized-0"])
    t.expect("--describe --broker-list", "kafka-log-dirs", "--describe", "--broker-list", "1", has=r'"broker":1')


def versions(t):
    t.expect("", "kafka-broker-api-versions", has=[r"^127\.0\.0\.1:\d+ \(id: 1 rack: null", r"Produce\(0\): 0 to 13 \[usable: 13\]",
                                                  r"ApiVersions\(18\): 0 to \d", r"Metadata\(3\): 0 to 13"], lacks="UNKNOWN|ERROR")


def perf(t):
    t.run("kafka-topics", "--create", "--topic", "perf", "--partitions", 2, "--if-not-exists")
    t.expect("", "kafka-producer-perf-test", "--topic", "perf", "--num-records", 20000, "--record-size", 100, "--throughput", -1,
             has=r"^20000 records sent, .* records/sec .* 99\.9th", lacks="Exception|WARN|ERROR")
    t.expect("", "kafka-consumer-perf-test", "--topic", "perf", "--num-records", 20000, "--timeout", 30000,
             has=[r"^start\.time, end\.time", r"^20\d\d-.*, 20000, "], lacks="Exception|WARNING")


def cluster(t):
    t.expect("cluster-id", "kafka-cluster", "cluster-id", has=r"^Cluster ID: [\w-]{22}")
    t.expect("list-endpoints", "kafka-cluster", "list-endpoints", has=r"^1\s+127\.0\.0\.1\s+\d+")
    t.expect("describe", "kafka-features", "describe", has=[r"Feature: metadata\.version", r"Feature: group\.version\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 1\s+FinalizedVersionLevel: 1"])
    t.expect("describe --status", "kafka-metadata-quorum", "describe", "--status", has=[r"^LeaderId:\s+1$", r"^HighWatermark:\s+\d+", r"^MaxFollowerLag:\s+0$"])
    t.expect("describe --replication", "kafka-metadata-quorum", "describe", "--replication", has=r"^1\s+\S+\s+\d+\s+0\s.*Leader")
    t.expect("--all-topic-partitions", "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions", lacks="Exception")
    t.agree("cluster features", lambda: {name: int(level) for name, level in re.findall(
        r"Feature: (\S+)\s.*FinalizedVersionLevel: (\d+)\s", t.run("kafka-features", "describe")) if name not in ("metadata.version", "kraft.version")},
        lambda: {f["feature"]: f["level"] or 0 for f in t.ours("cluster", "features")["features"] if f["feature"] not in ("metadata.version", "kraft.version")})


PARTS = [topics, console, groups, offsets, versions, perf, cluster, configs, quotas, log_dirs]


def main():
    if len(sys.argv) < 2:
        raise SystemExit(f"usage: kafka-tools FOLDER [{'|'.join(part.__name__ for part in PARTS)}...]")
    wanted = sys.argv[2:]
    if unknown := set(wanted) - {part.__name__ for part in PARTS}:
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}")

    def run(bootstrap):
        t = Tools(sys.argv[1], bootstrap)
        for part in PARTS:
            if wanted and part.__name__ not in wanted:
                continue
            try:
                part(t)
            except Failure as problem:
                t.failed += 1
                print(f"FAIL {part.__name__} could not go on\n  {problem}"[:2000], flush=True)
        print(f"{t.passed} passed, {t.failed} failed")
        return t.failed or not t.passed
    if "BOOTSTRAP" in os.environ:
        sys.exit(1 if run(os.environ["BOOTSTRAP"]) else 0)
    with Broker(group_initial_rebalance_delay_ms=0) as broker:
        broker.start()
        sys.exit(1 if run(f"127.0.0.1:{broker.port}") else 0)


if __name__ == "__main__":
    main()
