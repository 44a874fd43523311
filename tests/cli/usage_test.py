#!/usr/bin/env python3
"""What `millrace` says to arguments and configurations that make no sense, and how it ends then; its version; the reference of
keys in the docs; where it listens.

    usage_test.py [test...]      MILLRACE names the binary
"""
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
from wire import Broker, Connection, main  # noqa: E402

MILLRACE = os.environ.get("MILLRACE", str(ROOT / "build/release/millrace"))


def run(*arguments, code=0, **environment):
    done = subprocess.run([MILLRACE, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def version():
    assert run("--version")[0] == run("version")[0]
    assert run("version")[0].startswith("millrace 0."), run("version")


def unknown_commands():
    assert run("bogus", code=2)[1] == "millrace: there is no command `millrace bogus`; `millrace --help` lists them\n"
    assert run("serv", code=2)[1] == \
        "millrace: there is no command `millrace serv`; did you mean `millrace serve`?; `millrace --help` lists them\n"
    assert "did you mean `millrace topic list`" in run("topic", "lst", code=2)[1]
    assert "\x1b" not in run("\x1b[31m", code=2)[1]


def usage_errors():
    for arguments in ((), ("topic",), ("topic", "create"), ("topic", "list", "--nonsense"), ("consume",), ("serve", "--config", "/none"),
                      ("consume", "t", "-n", "many"), ("serve", "-o", "nonsense"), ("topic", "list", "--timeout-ms", "0"), ("-x",)):
        out, err = run(*arguments, code=2)
        assert out == "" and err.startswith("millrace: ") and len(err) < 400, (arguments, out, err)
    assert run("--help")[0] and run("topic", "create", "--help")[0]


def usage_errors_name_what_is_wrong():
    """The very words, since they are all that somebody gets who does not know the command."""
    for arguments, said in (
            ((), "A subcommand is required\n  See `millrace --help`."),
            (("topic", "create"), "name is required\n  See `millrace topic create --help`."),
            (("topic", "create", "t", "--partition", "3"),
             "there is no option --partition; did you mean --partitions?\n  See `millrace topic create --help`."),
            (("topic", "list", "--jsn"), "there is no option --jsn; did you mean --json?\n  See `millrace topic list --help`."),
            (("--versoin",), "there is no option --versoin; did you mean --version?\n  See `millrace --help`."),
            (("topic", "list", "--no-such-thing=\x1b"), "there is no option --no-such-thing\n  See `millrace topic list --help`."),
            (("cluster", "status", "now"), "now is one argument too many\n  See `millrace cluster status --help`."),
            (("topic", "create", "t", "-p", "0"),
             "--partitions: 0 is no whole number from 1 on\n  See `millrace topic create --help`."),
            (("consume", "t", "-n", "-1"), "--count: -1 is no whole number from 0 on\n  See `millrace consume --help`."),
            (("serve", "--config", "/none"), "--config: /none: No such file or directory\n  See `millrace serve --help`."),
            (("serve", "--config", "/"), "--config: /: it is a directory\n  See `millrace serve --help`.")):
        assert run(*arguments, code=2)[1] == f"millrace: {said}\n", run(*arguments, code=2)


def check_config():
    good = ("serve", "--check-config", "-o", "log.dirs=/nowhere")
    assert run(*good)[0] == "the configuration is good\n"
    for setting in ("millrace.admin.listener=nonsense", "log.retention.ms=0", "num.partitions=0", "no.such.key=1", "listeners=x"):
        err = run(*good, "-o", setting, code=2)[1]
        assert setting.split("=")[0] in err, err
    assert "log.retention.ms=-2 means no limit" in run(*good, "-o", "log.retention.ms=-2")[1]
    # All problems at once, each with its place, and nothing that could steer a terminal.
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "server.properties")
        file.write_bytes(b"num.partitions=x\nlog.drs=/a\n\x1b[2J=1\n")
        lines = run("serve", "--check-config", "--config", str(file), code=2)[1].splitlines()
        assert len(lines) == 3 and all(f"{file}:{n + 1}: " in line for n, line in enumerate(lines)), lines
        assert not any(ord(c) < 32 for line in lines for c in line), lines


def environment():
    assert "num.partitions=0" in run("serve", "--check-config", code=2, MILLRACE_NUM_PARTITIONS="0")[1]
    assert run("serve", "--check-config", "-o", "num.partitions=1", MILLRACE_NUM_PARTITIONS="2")[0]
    # Variables may be there for something else.
    assert "unknown key no.such.key" in run("serve", "--check-config", MILLRACE_NO_SUCH_KEY="1")[1]


def reference():
    """The list of keys in the docs is what the binary prints."""
    written = (ROOT / "docs/configuration-reference.md").read_text().split("<!-- millrace config reference -->\n", 1)[1]
    assert written.strip() == run("config", "reference")[0].strip(), "run: scripts/configuration-docs"


def wildcards_listen_on_both_families():
    for host in ("", "[::]", "0.0.0.0"):
        with Broker() as broker:
            broker.settings["listeners"] = f"PLAINTEXT://{host}:{broker.port},CONTROLLER://127.0.0.1:{broker.port + 1}"
            broker.start()
            for address in ("127.0.0.1", "::1"):
                with Connection((address, broker.port)) as c:
                    c.metadata([])
                    assert c.brokers[0][1] == address, c.brokers  # told as it came, without a mapped prefix


def a_taken_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with tempfile.TemporaryDirectory() as directory:
            err = run("serve", "-o", f"listeners=PLAINTEXT://127.0.0.1:{port}", "-o", f"log.dirs={directory}/data", "-o",
                      "millrace.admin.listener=", code=1)[1]
            assert f"127.0.0.1:{port}" in err and "in use" in err, err


if __name__ == "__main__":
    main(version, unknown_commands, usage_errors, usage_errors_name_what_is_wrong, check_config, environment, reference, wildcards_listen_on_both_families, a_taken_port)
