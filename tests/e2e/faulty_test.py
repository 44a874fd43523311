#!/usr/bin/env python3
"""Proves that a broker gets along with a kernel that gives it little: system calls cut short or interrupted (DF-06), one of two
log directories that fails for good (DF-07), no descriptors left (DF-08), and few descriptors for many partitions.
Needs a C compiler for what is preloaded (faulty_io.c).
"""
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from wire import Broker, batch, main

SEED = int(os.environ.get("SEED", "1"))
STORAGE_ERROR = 56
WORK = Path(tempfile.mkdtemp(prefix="millrace-faulty-"))


def preload(**variables):
    """The words before a command that run it with faulty system calls."""
    library = WORK / "faulty_io.so"
    if not library.exists():
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library, Path(__file__).parent / "faulty_io.c", "-ldl"],
                       check=True)
    return ["env", f"LD_PRELOAD={library}", *(f"{name}={value}" for name, value in variables.items())]


def short_io():
    source = random.Random(SEED)
    with Broker(prefix=preload(FAULTY_SHORT=1), log_segment_bytes=4 << 20) as broker:
        broker.start()
        expected = {p: [] for p in range(4)}
        with broker.connect() as c:
            c.create("t", 4)

        def write(rounds):
            with broker.connect() as c:
                for _ in range(rounds):
                    values = {p: [source.randbytes(source.choice([1, 100, 10_000, 300_000])) for _ in range(source.randrange(1, 4))]
                              for p in expected if source.random() < 0.7}
                    if not values:
                        continue
                    found = c.produce("t", {p: batch(v) for p, v in values.items()})
                    for p, v in values.items():
                        assert found[p] == (0, len(expected[p])), (found[p], len(expected[p]))
                        expected[p] += v

        def check():
            with broker.connect() as c:
                for p, values in expected.items():
                    assert [value for _, _, value in c.read_all("t", p)] == values, f"partition {p}"
        write(30)
        check()
        broker.kill()
        broker.start()
        check()
        write(10)
        _, code = broker.stop()
        assert code == 0, broker.tail()
        broker.start()
        check()
        print(f"     {sum(map(len, expected.values()))} records, {sum(len(v) for p in expected.values() for v in p) >> 20} MiB")


def one_of_two_directories_fails():
    switch = WORK / "switch"
    switch.unlink(missing_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="millrace-e2e-", dir=WORK))
    good, bad = directory / "good", directory / "bad"
    with Broker(directory, prefix=preload(FAULTY_SWITCH=switch, FAULTY_UNDER=bad), log_dirs=f"{good},{bad}",
                metadata_log_dir=good) as broker:
        broker.start()
        with broker.connect() as c:
            c.create("t", 20)
            for p in range(20):
                assert c.produce("t", {p: batch([b"before"])})[p] == (0, 0)
            lost = {int(path.name.rsplit("-", 1)[1]) for path in bad.glob("t-*")}
            assert 0 < len(lost) < 20, lost
            switch.touch()
            found = {p: c.produce("t", {p: batch([b"after"])}, timeout_ms=2000)[p] for p in range(20)}
            for p, (error, base) in found.items():
                if p in lost:
                    assert error != 0, (p, error)
                else:
                    assert (error, base) == (0, 1), (p, error, base)
            for p in set(range(20)) - lost:
                assert [v for _, _, v in c.read_all("t", p)] == [b"before", b"after"]
        assert broker.alive(), broker.tail()
        _, code = broker.stop()
        assert code == 0, broker.tail()
        # Again without it, as an operator would until there is a new disk.
        broker.prefix, broker.settings["log.dirs"] = [], good
        shutil.rmtree(bad)
        broker.start()
        with broker.connect() as c:
            for p in set(range(20)) - lost:
                assert [v for _, _, v in c.read_all("t", p)] == [b"before", b"after"]
                assert c.produce("t", {p: batch([b"again"])})[p] == (0, 2)
            print(f"     {len(lost)} of 20 partitions were in the directory that failed")


def few_descriptors_many_partitions():
    """1,024 descriptors, 5,000 partitions, written, read and started again. In memory where that is possible: 25,000 files are
    a minute's work for a busy disk, and not what this is about."""
    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else WORK
    directory = Path(tempfile.mkdtemp(prefix="millrace-e2e-", dir=place))
    try:
        many_partitions(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def many_partitions(directory):
    with Broker(directory, prefix=["prlimit", "--nofile=1024:1024"]) as broker:
        broker.start()
        topics, partitions = [f"t{n}" for n in range(50)], range(100)
        began = time.monotonic()
        with broker.connect(60) as c:
            assert set(c.create(topics, len(partitions)).values()) == {0}
            created_s = time.monotonic() - began
            data = {p: batch([b"x"]) for p in partitions}
            for topic in topics:
                assert set(c.produce(topic, data, timeout_ms=60000).values()) == {(0, 0)}
            written_s = time.monotonic() - began
            assert broker.descriptors() < 1024
            for topic in topics:
                assert all(error == 0 and mark == 1 and records for error, mark, records in c.fetch(topic, {p: 0 for p in partitions}).values())
        broker.kill()
        began_again = time.monotonic()
        broker.start()
        with broker.connect(60) as c:
            found = c.produce(topics[-1], data)
            assert set(found.values()) == {(0, 1)}, found
        print(f"     created in {created_s:.1f} s, written in {written_s:.1f} s, serving {time.monotonic() - began_again:.1f} s after "
              f"kill -9, {broker.descriptors()} descriptors")
        assert "Too many open files" not in broker.tail()


def no_descriptors_for_connections():
    """More connections than descriptors: those that are there go on, nothing spins, and service returns by itself."""
    with Broker(prefix=["prlimit", "--nofile=200:200"]) as broker:
        broker.start()
        with broker.connect() as c:
            c.create("t", 5)
            crowd = [broker.connect() for _ in range(190)]  # some wait in the kernel's queue
            cpu_ticks = sum(map(int, Path(f"/proc/{broker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
            for n in range(20):
                assert c.produce("t", {n % 5: batch([b"x"])})[n % 5] == (0, n // 5)
                time.sleep(0.05)
            used = sum(map(int, Path(f"/proc/{broker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) - cpu_ticks
            assert used < 50, f"{used} ticks in a second of waiting"
            for each in crowd:
                each.close()
        with broker.connect() as c:
            c.metadata([])


if __name__ == "__main__":
    try:
        main(short_io, one_of_two_directories_fails, few_descriptors_many_partitions, no_descriptors_for_connections)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
