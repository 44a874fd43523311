#!/usr/bin/env python3
"""Proves that no file includes what cmake/rooms.cmake does not allow.

    check_includes.py ROOMS_FILE SOURCE_DIR     ROOMS_FILE has one `room: used rooms` per line, written by CMake
    check_includes.py --self-test               shows that each rule can fail

Rules: a room includes itself and the rooms that it names; its tests and the simulator may include what they are linked
with; a quoted include that is not `millrace/...` stays inside its own folder; public headers carry no heavy library;
a library's headers appear only in its room; headers of the operating system only in env_os, admin, server and cli.
"""
import re
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".ipp"}
OS_ROOMS = {"env_os", "admin", "server", "cli"}
# The simulator replaces these; whole brokers run in it without them.
REAL_ROOMS = OS_ROOMS
HEAVY = ("boost/asio", "boost/beast", "spdlog/", "nlohmann/", "CLI/", "yaml-cpp/", "prometheus/")
LIBRARY_ROOMS = {
    "boost/asio": {"env_os", "admin"},
    "boost/beast": {"admin"},
    "spdlog/": {"env_os"},
    "nlohmann/": {"cli"},
    "CLI/": {"cli"},
    "yaml-cpp/": {"server"},
    "prometheus/": {"admin"},
    "openssl/": {"bytes", "env_os", "net"},  # bytes: digests only
}
OS_HEADERS = re.compile(
    r"^(unistd|fcntl|pthread|signal|netdb|poll|dirent|sched|semaphore|termios)\.h$"
    r"|^(sys|netinet|arpa|linux|net)/|^(thread|future|condition_variable|fstream|filesystem|iostream|random|csignal)$"
)


def read_rooms(text):
    rooms = {}
    for line in text.splitlines():
        if line.strip():
            name, uses = line.split(":", 1)
            rooms[name.strip()] = uses.split()
    for name, uses in rooms.items():
        earlier = list(rooms)[: list(rooms).index(name)]
        for used in uses:
            if used not in earlier:
                raise SystemExit(f"rooms.cmake: {name} uses {used}, which does not stand above it")
    return rooms


def closure(rooms, names):
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += rooms[name]
    return seen


def check_file(path, relative, room, allowed, is_public, is_test, own_folder):
    problems = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        where = f"{relative}:{number}: {name}"
        if name.startswith("millrace/"):
            used = name.split("/")[1]
            if used not in allowed:
                problems.append(f"{where}: {room or relative.parts[0]} may not include {used}")
        elif quote == '"':
            target = (path.parent / name).resolve()
            if not target.is_relative_to(own_folder) and not (is_test and target.is_file()):
                problems.append(f"{where}: leaves its folder; only millrace/... headers are shared")
        for prefix in HEAVY:
            if is_public and name.startswith(prefix):
                problems.append(f"{where}: a public header must not make everyone pay for {prefix}")
        if room and not is_test:
            for prefix, homes in LIBRARY_ROOMS.items():
                if name.startswith(prefix) and room not in homes:
                    problems.append(f"{where}: only {', '.join(sorted(homes))} may use {prefix}")
            if OS_HEADERS.match(name) and quote == "<" and room not in OS_ROOMS:
                problems.append(f"{where}: {room} must not see the operating system; use env")
    return problems


def check(rooms, source):
    source = Path(source).resolve()
    problems, count = [], 0

    def walk(folder, room, allowed, is_public=False, is_test=False):
        nonlocal count
        for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
            if path.suffix in SUFFIXES and path.is_file():
                count += 1
                problems.extend(
                    check_file(path, path.relative_to(source), room, allowed, is_public, is_test, folder.resolve()))

    for room, uses in rooms.items():
        walk(source / "include/millrace" / room, room, {room, *uses}, is_public=True)
        walk(source / "src" / room, room, {room, *uses})
        walk(source / "tests" / room, room, closure(rooms, [room]), is_test=True)
    walk(source / "tests/sim", None, set(rooms) - REAL_ROOMS, is_test=True)
    for parent in (source / "include/millrace", source / "src"):
        for folder in parent.iterdir() if parent.is_dir() else []:
            if folder.name not in rooms:
                problems.append(f"{folder.relative_to(source)}: is not a room of cmake/rooms.cmake")
    return problems, count


def self_test():
    table = "base:\nbytes: base\nenv: base bytes\nenv_os: base env\n"
    rooms = read_rooms(table)
    cases = [  # file, line, expected part of the complaint or None
        ("src/bytes/a.cpp", '#include "millrace/base/result.h"', None),
        ("src/bytes/a.cpp", '#include "millrace/env/disk.h"', "bytes may not include env"),
        ("src/env_os/a.cpp", '#include "millrace/bytes/view.h"', "env_os may not include bytes"),
        ("tests/env_os/a.cpp", '#include "millrace/bytes/view.h"', None),
        ("tests/bytes/a.cpp", '#include "millrace/env/disk.h"', "may not include env"),
        ("tests/sim/a.cpp", '#include "millrace/env/disk.h"', None),
        ("tests/sim/a.cpp", '#include "millrace/env_os/disk.h"', "may not include env_os"),
        ("src/bytes/a.cpp", '#include "../base/secret.h"', "leaves its folder"),
        ("src/bytes/deep/a.cpp", '#include "../own.h"', None),
        ("include/millrace/env_os/a.h", "#include <boost/asio/io_context.hpp>", "a public header"),
        ("src/env_os/a.cpp", "#include <boost/asio/io_context.hpp>", None),
        ("src/env/a.cpp", "#include <boost/asio/io_context.hpp>", "only admin, env_os may use"),
        ("include/millrace/env_os/a.h", "#include <spdlog/spdlog.h>", "a public header"),
        ("src/env/a.cpp", "#include <unistd.h>", "must not see the operating system"),
        ("src/env/a.cpp", "#  include <sys/socket.h>", "must not see the operating system"),
        ("src/env/a.cpp", "#include <thread>", "must not see the operating system"),
        ("src/env_os/a.cpp", "#include <thread>", None),
        ("src/stray/a.cpp", "#include <vector>", "is not a room"),
    ]
    for name, line, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(line + "\n")
            problems, _ = check(rooms, folder)
        if (expected is None) != (not problems) or (expected and not any(expected in p for p in problems)):
            raise SystemExit(f"self-test: {name}: {line}: expected {expected}, got {problems}")
    try:
        read_rooms("base: env\nenv:\n")
    except SystemExit:
        pass
    else:
        raise SystemExit("self-test: a use of a later room went unnoticed")
    print(f"{len(cases) + 1} passed, 0 failed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    rooms = read_rooms(Path(sys.argv[1]).read_text())
    problems, count = check(rooms, sys.argv[2])
    if count == 0:
        raise SystemExit("no source file was found")
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
