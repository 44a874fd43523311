#!/usr/bin/env python3
"""The quick starts of docs/ do what they say. From each page, in its order: a fenced block with a file's name behind its
language is written to that file, a block `sh` is run, and each line of a block `text` must be a line of what the last `sh`
printed. Only the port is another one. A page whose tools are missing here is skipped.

    quick_starts_test.py [java] [python] [go] [javascript] [shell]      MILLRACE names the binary
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from wire import Broker, ROOT

PAGES = {  # page, and the programs that it needs
    "shell": ("quick-start.md", ("kcat",)),
    "python": ("quick-start-python.md", ("python3",)),
    "java": ("quick-start-java.md", ("javac", "mvn")),
    "go": ("quick-start-go.md", ("go",)),
    "javascript": ("quick-start-javascript.md", ("node", "npm")),
}
BLOCK = re.compile(r"^( *)```(\w+)(?: (\S+))?\n(.*?)^ *```$", re.M | re.S)
PROGRAM_SECONDS_MAX = 300  # the first run downloads what it needs


def go_version():
    found = re.search(r"go1\.(\d+)", subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout)
    return int(found.group(1)) if found else 0


def missing(programs):
    for program in programs:
        if shutil.which(program) is None:
            return f"there is no {program}"
    if "go" in programs and go_version() < 21:
        return "Go is older than 1.21"
    return None


def run_page(page, broker):
    text = (ROOT / "docs" / page).read_text().replace("localhost:9092", f"localhost:{broker.port}")
    environment = {**os.environ, "PATH": f"{Path(broker.millrace).parent}:{os.environ['PATH']}", "MILLRACE_BOOTSTRAP": f"localhost:{broker.port}",
                   "MILLRACE_ADMIN": f"localhost:{broker.port + 2}"}
    output, ran, compared = "", 0, 0
    with tempfile.TemporaryDirectory(prefix="millrace-quick-start-") as folder:
        for indent, language, name, content in BLOCK.findall(text):
            content = textwrap.dedent(content) if indent else content
            if name:
                file = Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            elif language == "sh":
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", content], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=PROGRAM_SECONDS_MAX, check=False)
                output, ran = done.stdout, ran + 1
                assert done.returncode == 0, f"this ended with {done.returncode}:\n{content}{output}"
            elif language == "text":
                for line in content.splitlines():
                    assert line in output.splitlines(), f"{line!r} is missing in:\n{output}"
                    compared += 1
    assert ran >= 3 and compared >= 1, f"{page} has only {ran} commands and {compared} lines of output"


def main():
    wanted = sys.argv[1:] or list(PAGES)
    passed = failed = skipped = 0
    for name in wanted:
        page, programs = PAGES[name]
        reason = missing(programs)
        if reason:
            print(f"SKIP {name}: {reason}")
            skipped += 1
            continue
        began = time.monotonic()
        try:
            # The listener of `localhost`, as in config/server.properties.
            with Broker(**{"group.initial.rebalance.delay.ms": 0}) as broker:
                broker.settings["listeners"] = broker.settings["listeners"].replace("PLAINTEXT://127.0.0.1", "PLAINTEXT://localhost")
                broker.start()
                run_page(page, broker)
                assert broker.stop()[1] == 0, broker.tail()
            passed += 1
            print(f"ok   {name} {time.monotonic() - began:.1f} s", flush=True)
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAIL {name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or passed + skipped == 0 else 0)


if __name__ == "__main__":
    main()
