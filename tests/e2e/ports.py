"""Ports of what tests start. Tests run side by side, and a test's node may be down for a while: who was given ports keeps
them until its process ends, so that no other test's node answers there meanwhile."""
import fcntl
import random
import socket
import tempfile
from pathlib import Path

FIRST, END, UNIT = 20000, 32000, 10  # below those that the kernel gives to outgoing connections
_locks = []  # held as long as this process lives


def reserve(count):
    """The first of `count` ports in a row that nobody listens on and no other test has."""
    folder = Path(tempfile.gettempdir()) / "millrace-test-ports"
    folder.mkdir(exist_ok=True)
    units = -(-count // UNIT)
    bases = list(range(FIRST, END - units * UNIT + 1, UNIT))
    random.SystemRandom().shuffle(bases)  # tests seed the other one
    for base in bases:
        locks = []
        try:
            for unit in range(units):
                locks.append(open(folder / str(base + unit * UNIT), "w", encoding="ascii"))
                fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            for lock in locks:
                lock.close()
            continue
        _locks.extend(locks)
        return base
    raise SystemExit(f"no {count} free ports in a row from {FIRST} to {END}")
