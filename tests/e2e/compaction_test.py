#!/usr/bin/env python3
"""Proves that a compacted topic costs no more than its live keys: a million offset commits to a thousand keys, and a
user's topic written over and over, with a broker killed in the middle. Nothing committed or newest is lost. (RC-01, RC-04.)
"""
import os
import struct
import time

from wire import Broker, array, batch, main, text

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
COMMITS = int(os.environ.get("COMMITS", "1000000"))
GROUPS, PARTITIONS = 10, 100
SETTINGS = {"log_cleaner_backoff_ms": 200, "log_segment_delete_delay_ms": 500, "offsets_topic_num_partitions": 2,
            "offsets_topic_segment_bytes": 1 << 20}


def log_bytes(broker, topic):
    total = 0
    for folder in broker.data.glob(f"{topic}-*"):
        for file in folder.iterdir():
            try:
                total += file.stat().st_size
            except FileNotFoundError:
                pass  # exchanged meanwhile
    return total


def ready(broker, connection, group):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        answer = connection.call(FIND_COORDINATOR, 0, text(group))
        if answer.take(">h") == 0 and commit_errors(connection.call(*commit(group, 0, 1))) == {0}:
            return
        time.sleep(0.1)
    raise AssertionError("no coordinator\n" + broker.tail())


def commit(group, offset, count=PARTITIONS):
    return OFFSET_COMMIT, 2, (text(group) + struct.pack(">i", -1) + text("") + struct.pack(">q", -1) + array(
        [text("data") + array([struct.pack(">iq", p, offset) + text("") for p in range(count)])]))


def commit_errors(answer):
    return {error for _, rows in answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ih"))))
            for _, error in rows}


def committed(connection, group):
    answer = connection.call(OFFSET_FETCH, 1, text(group) + array(
        [text("data") + array([struct.pack(">i", p) for p in range(PARTITIONS)])]))
    rows = answer.array(lambda: (answer.text(), answer.array(
        lambda: (*answer.take(">iq"), answer.text(), answer.take(">h")))))
    return {row[0]: row[1] for _, parts in rows for row in parts}


def a_million_commits():
    groups = [f"group-{g}" for g in range(GROUPS)]
    rounds = COMMITS // (GROUPS * PARTITIONS)
    with Broker(**SETTINGS) as broker:
        broker.start()
        with broker.connect() as c:
            c.create("data", PARTITIONS)
            for group in groups:
                ready(broker, c, group)
        disk_max = memory_first = memory_max = 0
        began = time.monotonic()
        for half in range(2):
            with broker.connect() as c:
                for group in groups:
                    ready(broker, c, group)
                for r in range(half * rounds // 2 + 1, (half + 1) * rounds // 2 + 1):
                    sent = [c.send(*commit(group, r)) for group in groups]
                    for correlation in sent:
                        assert commit_errors(c.receive(correlation)) == {0}
                    if r % 20 == 0:
                        disk_max = max(disk_max, log_bytes(broker, "__consumer_offsets"))
                        memory_first = memory_first or broker.memory_kb()
                        memory_max = max(memory_max, broker.memory_kb())
            broker.kill()
            broker.start()
        took_s = time.monotonic() - began
        with broker.connect() as c:
            for group in groups:
                ready(broker, c, group)
                found = committed(c, group)
                del found[0]  # written by ready()
                assert set(found.values()) == {rounds}, (group, found)
        end = time.monotonic() + 10
        while log_bytes(broker, "__consumer_offsets") > 5 << 20 and time.monotonic() < end:
            time.sleep(0.2)
        rest = log_bytes(broker, "__consumer_offsets")
        print(f"     {COMMITS} commits of {GROUPS * PARTITIONS} keys in {took_s:.1f} s; disk at most {disk_max >> 10} KiB, "
              f"{rest >> 10} KiB at the end; memory {memory_first >> 10} MiB, at most {memory_max >> 10} MiB")
        # Two partitions, each an active segment, dirty ones that wait for the cleaner, what is live, and replaced files
        # that wait to be unlinked.
        assert disk_max < 32 << 20, disk_max
        assert rest <= 5 << 20, rest
        assert memory_max < memory_first + (48 << 10), (memory_first, memory_max)
        assert (broker.data / "cleaner-offset-checkpoint").read_text().startswith("0\n2\n")


def a_topic_written_over_and_over():
    keys, rounds = 200, 400
    with Broker(**SETTINGS) as broker:
        broker.start()
        with broker.connect() as c:
            assert c.create("tables", 1, {"cleanup.policy": "compact", "segment.bytes": 1 << 20,
                                          "min.cleanable.dirty.ratio": "0.1"}) == {"tables": 0}
            for r in range(rounds):
                rows = [(b"key-%d" % k, b"%d" % r * 50) for k in range(keys)]
                error, _ = c.produce("tables", {0: batch(rows)})[0]
                assert error == 0
            end = c.offsets("tables", [0])[0][1]
            assert end == keys * rounds
            written = keys * rounds * 150
            deadline = time.monotonic() + 20
            while log_bytes(broker, "tables") > 3 << 20 and time.monotonic() < deadline:
                time.sleep(0.2)
            rest = log_bytes(broker, "tables")
        broker.kill()
        broker.start()
        with broker.connect() as c:
            rows = c.read_all("tables")
        newest = {}
        for offset, key, value in rows:
            newest[key] = value
        assert newest == {b"key-%d" % k: b"%d" % (rounds - 1) * 50 for k in range(keys)}
        assert rows[-1][0] == end - 1
        print(f"     {written >> 20} MiB written, {rest >> 10} KiB left, {len(rows)} of {end} records")
        assert rest < 3 << 20, rest


if __name__ == "__main__":
    main(a_million_commits, a_topic_written_over_and_over)
