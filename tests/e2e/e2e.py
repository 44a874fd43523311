#!/usr/bin/env python3
"""Stock clients write a real data set to a node and read it back, before and after `kill -9` and a restart, and in groups.

    e2e.py --launcher SCRIPT [--clients kcat,librdkafka,confluent,franz-go,kafkajs,java] [--codecs none,...] [--records N]
           [--parts records,groups] [--nodes N]

Proves that nothing is missing, changed, doubled or out of order: key, headers, value, partition and offset of every record
are compared. The data set is each package record of `apt-cache dumpavail` as a JSON line and some records of 900 KB; every
seventh has no key; headers with text, number and null. Each client writes with each codec and reads its own topic; after the
restart kcat reads all topics too. Of several nodes, the first is killed. What the groups prove stands in groups.py. SCRIPT
answers the verbs of bench/launcher.sh (or of Kafka's own launcher, to prove the test). Ends with `N passed, N failed`.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import groups
import ports

HERE = Path(__file__).resolve().parent
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
# How to run a client, and how many partitions its topics have (the console producer cannot choose a partition).
CLIENTS = {
    "kcat": ([str(HERE / "clients/kcat.sh")], 3),
    "librdkafka": (["{build}/librdkafka"], 3),
    "confluent": (["{build}/venv/bin/python", str(HERE / "clients/confluent.py")], 3),
    "franz-go": (["{build}/franz-go"], 3),
    "kafkajs": (["node", "{build}/kafkajs/main.js"], 3),
    "java": ([str(HERE / "clients/console.sh")], 1),
}
CODECS_OF = {"kafkajs": ["none", "gzip"]}  # that it has, if not all
BIG_COUNT, BIG_BYTES = 20, 900_000


def package_records(count_max):
    """Every paragraph of the package index as a JSON line; made up ones where there is no index."""
    lines, fields, name = [], {}, None
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=False).stdout.decode(errors="replace")
    for line in text.split("\n"):
        if not line:
            if fields:
                lines.append(json.dumps(fields, ensure_ascii=False))
            fields, name = {}, None
            if len(lines) >= count_max:
                break
        elif line[0] in " \t" and name:
            fields[name] += "\n" + line.strip()
        elif ":" in line:
            name, value = line.split(":", 1)
            fields[name] = value.strip()
    if fields and len(lines) < count_max:
        lines.append(json.dumps(fields, ensure_ascii=False))
    if not lines:
        print("apt-cache has no records here; using made-up ones")
        lines = [json.dumps({"Package": f"p{i}", "Description": "é" * (i % 500)}) for i in range(min(count_max, 5000))]
    return lines


def make_dataset(path, count_max):
    """Writes `key TAB headers TAB value` lines: no key is an empty field, a header without value is `name=NULL`."""
    values = package_records(count_max)
    source = random.Random(1)
    for _ in range(BIG_COUNT):
        big = json.dumps({"Package": "big", "Data": "%0*x" % (BIG_BYTES - 30, source.getrandbits(4 * (BIG_BYTES - 30)))})
        values.insert(source.randrange(len(values)), big)
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for index, value in enumerate(values):
            assert "\t" not in value and "\n" not in value
            key = "" if index % 7 == 0 else json.loads(value)["Package"]
            out.write(f"{key}\tsource=apt,none=NULL,n={index}\t{value}\n")
    return len(values)


def headers_of(name, headers):
    """What a client can write of them: kcat has the same for all records, kafkajs none without a value."""
    if name == "kcat":
        return headers[:headers.rindex(b",")]
    return headers.replace(b",none=NULL", b"") if name == "kafkajs" else headers


def expected_lines(dataset, partitions, name):
    """What reading must give: partition -> lines `partition|offset|key bytes|key|headers|value bytes|value`."""
    out = {p: [] for p in range(partitions)}
    with open(dataset, "rb") as lines:
        for index, line in enumerate(lines):
            key, headers, value = line.rstrip(b"\n").split(b"\t")
            headers = headers_of(name, headers)
            partition = index % partitions
            rows = out[partition]
            rows.append(b"%d|%d|%d|%s|%s|%d|%s" % (partition, len(rows), len(key) if key else -1, key, headers,
                                                    len(value), value))
    return out


def difference(expected, path):
    found = {p: [] for p in expected}
    with open(path, "rb") as lines:
        for line in lines:
            partition = int(line.split(b"|", 1)[0])
            if partition not in found:
                return f"a record of partition {partition}"
            found[partition].append(line.rstrip(b"\n"))
    for partition, rows in expected.items():
        for index, (want, got) in enumerate(zip(rows, found[partition])):
            if want != got:
                return f"partition {partition} record {index}: expected {want[:120]!r}, got {got[:120]!r}"
        if len(rows) != len(found[partition]):
            return f"partition {partition}: expected {len(rows)} records, got {len(found[partition])}"
    return None


class Target:
    def __init__(self, launcher, work):
        self.launcher = str(Path(launcher).resolve())
        self.env = dict(os.environ, NAME=f"e2e-{os.getpid()}", DATA=str(work / "node"), TLS="0", HEAP="512m")
        # Clients which rely on auto-creation expect this many.
        self.env["EXTRA"] = ";".join(filter(None, [os.environ.get("EXTRA"), "num.partitions=3"]))
        self.env["PORT_BASE"] = str(ports.reserve(30))
        self.bootstrap = ""

    def call(self, *verb):
        run = subprocess.run([self.launcher, *verb], env=self.env, stdout=subprocess.PIPE, text=True, timeout=180, check=False)
        if run.returncode:
            raise SystemExit(f"{self.launcher} {' '.join(verb)} failed")
        if run.stdout.strip():
            info = json.loads(run.stdout.strip().splitlines()[-1])
            self.bootstrap, self.pid = info["bootstrap"], info["nodes"]["1"]["pid"]

    def check_alive(self):
        if not Path(f"/proc/{self.pid}/exe").exists():
            log = Path(self.env["DATA"]) / "1/server.log"
            raise SystemExit("the node died:\n" + log.read_text(errors="replace")[-2000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", default=str(HERE.parent.parent / "bench/launcher.sh"))
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--parts", default="records,groups")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--records", type=int, default=1 << 30, help="at most so many package records")
    parser.add_argument("--build", default=str(HERE.parent.parent / "build/e2e"), help="where scripts/e2e built the clients")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one client command")
    options = parser.parse_args()
    passed = failed = 0

    def check(name, function):
        nonlocal passed, failed
        begin = time.time()
        try:
            problem = function()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        print(f"{'FAIL' if problem else 'PASS'} {name} ({time.time() - begin:.1f} s){': ' + problem if problem else ''}",
              flush=True)
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            target.check_alive()
        return not problem

    with tempfile.TemporaryDirectory(prefix="millrace-e2e-") as folder:
        work = Path(folder)
        dataset, out = work / "dataset", work / "out"
        count = make_dataset(dataset, options.records)
        print(f"{count} records, {dataset.stat().st_size / 1e6:.1f} MB")
        target = Target(options.launcher, work)

        def client(name, *arguments):
            command = [part.format(build=options.build) for part in CLIENTS[name][0]] + [str(a) for a in arguments]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=options.timeout,
                                 check=False)
            if run.returncode:
                text = re.sub(r"\s+", " ", run.stdout.decode(errors="replace"))[-300:]
                raise RuntimeError(f"{name} {arguments[0]} ended with {run.returncode}: {text}")

        def read(reader, topic, partitions, expected):
            out.unlink(missing_ok=True)
            client(reader, "read", target.bootstrap, topic, partitions, count, out)
            return difference(expected, out)

        topics = [(name, codec, f"e2e-{name}-{codec}") for name in options.clients.split(",")
                  for codec in options.codecs.split(",") if codec in CODECS_OF.get(name, CODECS)]
        if "records" not in options.parts.split(","):
            topics = []
        expected = {}
        try:
            target.call("start", str(options.nodes))
            for name, codec, topic in topics:
                partitions = CLIENTS[name][1]
                if name not in expected:
                    expected[name] = expected_lines(dataset, partitions, name)
                check(f"{topic} create", lambda: client(name, "create", target.bootstrap, topic, partitions))
                check(f"{topic} write",
                      lambda: client(name, "write", target.bootstrap, topic, partitions, codec, dataset))
                check(f"{topic} read", lambda: read(name, topic, partitions, expected[name]))
            if topics:
                target.call("kill", "1")
                target.call("start-node", "1")
            for name, codec, topic in topics:
                for reader in dict.fromkeys((name, "kcat")):
                    check(f"{topic} read by {reader} after kill -9",
                          lambda: read(reader, topic, CLIENTS[name][1], expected[name]))
            if "groups" in options.parts.split(","):
                context = groups.Context(target, options.build, work, dataset)
                groups.run(check, context, options.clients.split(","))
        finally:
            target.call("wipe")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
