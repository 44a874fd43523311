#!/usr/bin/env python3
"""The example configurations in config/ are good, what they offer in comments too; those of one node start and serve; and
where an example is there as properties and as YAML, both say the same.

    examples_test.py [test...]      MILLRACE names the binary
"""
import contextlib
import json
import re
import subprocess
import time
from pathlib import Path

from wire import Broker, ROOT, batch, main

EXAMPLES = sorted(path for ending in ("properties", "yaml") for path in (ROOT / "config").rglob(f"*.{ending}"))
SINGLE = ("server.properties", "development.yaml", "production.properties", "production.yaml")
TWINS = (("server.properties", "development.yaml"), ("production.properties", "production.yaml"))


def check(file, *more):
    done = subprocess.run([Broker().millrace, "serve", "--check-config", "--config", str(file), *more], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and done.stdout == "the configuration is good\n" and done.stderr == "", (file, more, done.stderr)


class Example(Broker):
    """A node with a configuration of config/, on ports and in a folder of its own."""

    def __init__(self, name):
        super().__init__()
        self.file = ROOT / "config" / name
        keys = ("listeners", "controller.quorum.voters", "log.dirs", "millrace.admin.listener", "millrace.space.low.bytes")
        self.settings = {key: self.settings[key] for key in keys}

    def command(self):
        command = super().command()
        return command[:2] + ["--config", str(self.file)] + command[2:]

    def configuration(self):
        out = subprocess.run([self.millrace, "config", "describe", "broker", "1", "--json", "-b", f"127.0.0.1:{self.port}"],
                             capture_output=True, text=True, timeout=60, check=True).stdout
        return {row["key"]: row["value"] for row in json.loads(out) if row["key"] not in self.settings}


def all_are_good():
    assert set(SINGLE) <= {path.name for path in EXAMPLES}, EXAMPLES
    for example in EXAMPLES:
        check(example)


def what_comments_offer_is_good():
    count = 0
    for example in EXAMPLES:
        if example.suffix != ".properties":
            continue
        for line in example.read_text().splitlines():
            if re.match(r"#[a-z.]+=", line):
                check(example, "-o", line[1:])
                count += 1
    assert count >= 3, count


def single_nodes_serve():
    for name in SINGLE:
        with Example(name).start() as broker:
            with broker.connect() as c:
                assert c.create("t") == {"t": 0}, name
                assert c.produce("t", {0: batch([b"hello"])})[0] == (0, 0), name
                assert c.read_all("t") == [(0, None, b"hello")], name
            assert broker.stop()[1] == 0, broker.tail()
            assert " WARN " not in broker.tail() and " ERROR " not in broker.tail(), broker.tail()


def three_nodes_form_a_cluster():
    nodes = [Example(f"three-nodes/node-{i}.properties") for i in (1, 2, 3)]
    voters = ",".join(f"{i + 1}@127.0.0.1:{node.port + 1}" for i, node in enumerate(nodes))
    with contextlib.ExitStack() as stack:
        for node in nodes:
            node.settings["controller.quorum.voters"] = voters
            node.settings["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{node.port}"
            stack.enter_context(node).start(wait=False)
        for node in nodes:
            node.wait_ready()
        with nodes[0].connect() as c:
            end = time.monotonic() + 30
            while c.metadata([]) is not None and len(c.brokers) < 3:
                assert time.monotonic() < end, (c.brokers, nodes[0].tail())
                time.sleep(0.05)
            assert {port for _, _, port, _ in c.brokers} == {node.port for node in nodes}


def properties_and_yaml_say_the_same():
    for twins in TWINS:
        told = []
        for name in twins:
            with Example(name).start() as broker:
                told.append(broker.configuration())
        assert told[0] == told[1] and len(told[0]) >= 5, (twins, told)


if __name__ == "__main__":
    main(all_are_good, what_comments_offer_is_good, single_nodes_serve, three_nodes_form_a_cluster, properties_and_yaml_say_the_same)
