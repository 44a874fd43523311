#!/usr/bin/env python3
"""The Debian package: what is in it, what it needs, that its unit is sound, and that what it installs starts with the
configuration that it brings and tells systemd so. Nothing is installed: the package is unpacked into a folder.
in_fresh_debian does install it.

    package_test.py [test...]      BUILD names the folder in which millrace is built
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
from wire import Broker, main  # noqa: E402

BUILD = Path(os.environ.get("BUILD", ROOT / "build/release"))
FILES = {  # mode
    "usr/bin/millrace": 0o755, "usr/lib/systemd/system/millrace.service": 0o644, "etc/millrace/server.properties": 0o644,
    "etc/default/millrace": 0o644, "usr/share/man/man1/millrace.1.gz": 0o644, "usr/share/bash-completion/completions/millrace": 0o644,
    "usr/share/zsh/vendor-completions/_millrace": 0o644, "usr/share/fish/vendor_completions.d/millrace.fish": 0o644,
    "usr/share/doc/millrace/copyright": 0o644, "usr/share/doc/millrace/changelog.gz": 0o644,
    "usr/share/doc/millrace/operations.md": 0o644, "usr/share/doc/millrace/configuration-reference.md": 0o644,
    "usr/share/doc/millrace/examples/production.yaml": 0o644, "usr/share/doc/millrace/examples/grafana/millrace.json": 0o644}
WORK = Path(tempfile.mkdtemp(prefix="millrace-package-"))
TREE, CONTROL = WORK / "tree", WORK / "control"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def build():
    run("cpack", "-G", "DEB", "-B", WORK / "out", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=BUILD)
    package, = (WORK / "out").glob("millrace_*.deb")
    run("dpkg-deb", "-x", package, TREE)
    run("dpkg-deb", "-e", package, CONTROL)
    return run("dpkg-deb", "-f", package)


def contents():
    fields = build()
    for name, mode in FILES.items():
        assert (TREE / name).is_file(), f"{name} is missing"
        assert (TREE / name).stat().st_mode & 0o777 == mode, f"{name} has mode {(TREE / name).stat().st_mode & 0o777:o}"
    for library in ("libc6", "libstdc++6", "libzstd1", "adduser"):
        assert re.search(rf"^Depends:.*\b{re.escape(library)}", fields, re.M), fields
    assert (CONTROL / "conffiles").read_text().split() == ["/etc/millrace/server.properties", "/etc/default/millrace"]
    for script in ("postinst", "prerm", "postrm"):
        assert (CONTROL / script).stat().st_mode & 0o777 == 0o755
        run("sh", "-n", CONTROL / script)
    page = run("gzip", "-dc", TREE / "usr/share/man/man1/millrace.1.gz")
    commands = re.findall(r"^  (\w+) {2,}", run(TREE / "usr/bin/millrace", "--help").split("Subcommands:")[1], re.M)
    assert len(commands) > 8 and all(command in page for command in commands), (commands, page)
    assert "_millrace" in (TREE / "usr/share/zsh/vendor-completions/_millrace").read_text()


def unit():
    """What systemd itself makes of it, where there is one. The paths are those of the unpacked package."""
    text = (TREE / "usr/lib/systemd/system/millrace.service").read_text()
    assert "/usr/bin/millrace serve --config /etc/millrace/server.properties" in text
    if shutil.which("systemd-analyze") is None:
        print("there is no systemd-analyze: the unit was only read")
        return
    text = re.sub(r"^Documentation=.*\n", "", text.replace("/usr/bin/millrace", str(TREE / "usr/bin/millrace")), flags=re.M)
    copy = WORK / "millrace.service"
    copy.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and str(copy) not in done.stderr and "millrace" not in done.stderr, done.stderr
    exposure = re.search(r"level for millrace.service: ([0-9.]+)", run("systemd-analyze", "security", "--offline=true", copy))
    assert exposure and float(exposure.group(1)) < 2, exposure


class Packaged(Broker):
    """What the package brings, on ports and in a folder of its own."""

    def __init__(self, notify):
        super().__init__()
        self.millrace = str(TREE / "usr/bin/millrace")
        keys = ("listeners", "controller.quorum.voters", "log.dirs", "millrace.admin.listener", "millrace.space.low.bytes")
        self.settings = {key: self.settings[key] for key in keys}
        self.prefix = ["env", f"NOTIFY_SOCKET={notify}"]

    def command(self):
        command = super().command()
        at = command.index("serve") + 1
        return command[:at] + ["--config", str(TREE / "etc/millrace/server.properties")] + command[at:]


def serves():
    notify = WORK / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(notify))
        manager.settimeout(30)
        with Packaged(notify).start() as broker:
            assert manager.recv(1000) == b"READY=1"
            there = ("-b", f"127.0.0.1:{broker.port}")
            run(broker.millrace, "topic", "create", "t", *there)
            run(broker.millrace, "produce", "t", *there, input="hello\n")
            assert run(broker.millrace, "consume", "t", "--from", "earliest", "-n", "1", *there) == "hello\n"
            partitions = json.loads(run(broker.millrace, "topic", "list", "--json", *there))[0]["partitions"]
            assert partitions == 3, partitions  # as the packaged file says
            assert broker.stop()[1] == 0, broker.tail()
            assert manager.recv(1000) == b"STOPPING=1"


if __name__ == "__main__":
    try:
        main(contents, unit, serves)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
