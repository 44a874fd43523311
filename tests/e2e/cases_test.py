#!/usr/bin/env python3
"""Small inputs that broke other brokers, each with the answer that Kafka 4.4.0 gives. B02, B06 and B56 stand in hostile_test.py.
"""
import contextlib
import difflib
import gzip
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from wire import (LIST_OFFSETS, METADATA, PRODUCE, ROOT, Broker, array, batch, call, compact, compact_array, crc32c, main, produce_body,
                  records, text)

OUT_OF_ORDER, UNKNOWN_TOPIC, TOO_LARGE, OFFSET_METADATA_TOO_LARGE, INVALID_TIMESTAMP = 45, 3, 10, 12, 32
TOPIC_EXISTS, INVALID_PARTITIONS, STORAGE_ERROR, INVALID_RECORD = 36, 37, 56, 87
NOW_MS = int(time.time() * 1000)


def node(test, **settings):
    with Broker(**settings) as broker:
        broker.start()
        with broker.connect() as c:
            test(broker, c)
        assert broker.alive(), broker.tail()


def B04_compression_is_used_by_clients_that_look_at_the_lowest_version():
    """librdkafka takes Produce's lowest version for what the broker can decompress; those versions are not served."""
    def run(broker, c):
        c.create("t")
        assert c.api_versions()[PRODUCE][0] == 0
        for version in range(3):
            with broker.connect() as old:
                try:
                    old.call(PRODUCE, version, struct.pack(">hi", -1, 1000) + array([]))
                    raise AssertionError(f"Produce v{version} is answered")
                except ConnectionError:
                    pass
        values = [b"%d" % n * 50 for n in range(10)]
        subprocess.run(["kcat", "-b", "%s:%d" % broker.address, "-P", "-t", "t", "-z", "lz4"], input=b"\n".join(values), check=True, timeout=60)
        data = c.fetch("t", {0: 0})[0][2]
        assert struct.unpack_from(">h", data, 21)[0] & 7 == 3, "lz4 is not what is stored"
        out = subprocess.run(["kcat", "-b", "%s:%d" % broker.address, "-C", "-t", "t", "-e", "-q"], capture_output=True, check=True, timeout=60)
        assert out.stdout.split() == values
    node(run)


def B07_a_retried_batch_is_not_appended_again():
    def run(_, c):
        c.create("t")
        pid, epoch = c.init_producer()
        batches = [batch([b"%d" % n], pid, epoch, n) for n in range(5)]

        def send_all():
            sent = [c.send(PRODUCE, 7, produce_body("t", {0: each})) for each in batches]
            return [c.produced(c.receive(n))[0] for n in sent]
        first = send_all()
        assert first == [(0, n) for n in range(5)], first
        assert send_all() == first
        assert c.offsets("t", [0])[0] == (0, 5)
    node(run)


def B09_a_producer_that_was_forgotten_goes_on():
    def run(_, c):
        c.create("t")
        pid, epoch = c.init_producer()
        for sequence in range(3):
            assert c.produce("t", {0: batch([b"x"], pid, epoch, sequence)})[0] == (0, sequence)
        assert c.produce("t", {0: batch([b"x"], pid, epoch, 7)})[0][0] == OUT_OF_ORDER
        end = time.monotonic() + 20
        while c.produce("t", {0: batch([b"x"], pid, epoch, 7)})[0][0] == OUT_OF_ORDER:
            assert time.monotonic() < end, "the producer is not forgotten"
            time.sleep(0.2)
        assert c.offsets("t", [0])[0] == (0, 4)
        assert c.produce("t", {0: batch([b"x"], pid, epoch, 8)})[0] == (0, 4)
    node(run, producer_id_expiration_ms=1000, producer_id_expiration_check_interval_ms=200)


def B23_a_fetch_inside_a_batch_gets_it_whole():
    def run(_, c):
        c.create("t")
        for values in ([b"a", b"b"], [b"c", b"d"]):
            assert c.produce("t", {0: batch(values)})[0][0] == 0
        for offset, first in ((0, 0), (1, 0), (2, 2), (3, 2)):
            data = c.fetch("t", {0: offset})[0][2]
            assert [row[0] for row in records(data)] == list(range(first, 4)), offset
    node(run)


def B24_a_batch_above_every_limit_is_still_delivered():
    def run(_, c):
        c.create("t", 2)
        value = os.urandom(900_000)
        for p in range(2):
            assert c.produce("t", {p: batch([value])})[p] == (0, 0)
        found = c.fetch("t", {0: 0, 1: 0}, bytes_max=1000, part_bytes_max=1000)
        assert [row[2] for row in records(found[0][2])] == [value]
        assert not found[1][2]
    node(run)


def B26_offsets_by_time():
    def run(_, c):
        c.create("t")
        assert c.produce("t", {0: batch([b"x"], timestamp_ms=1000)})[0] == (0, 0)

        def ask(timestamp):
            body = struct.pack(">ib", -1, 0) + compact_array([compact("t") + compact_array(
                [struct.pack(">iiq", 0, -1, timestamp) + b"\0"]) + b"\0"]) + struct.pack(">i", 1000) + b"\0"
            answer = call(c, LIST_OFFSETS, 11, body)
            answer.take(">i")
            rows = answer.array(lambda: (answer.text(), answer.array(lambda: (answer.take(">ihqqi"), answer.tags())), answer.tags()))
            _, error, time_ms, offset, _ = rows[0][1][0][0]
            return error, time_ms, offset
        # after it, at it, before it, end, start, newest record, start on this disk, last tiered, first not yet tiered, unknown
        expected = {1001: (0, -1, -1), 1000: (0, 1000, 0), 0: (0, 1000, 0), -1: (0, -1, 1), -2: (0, -1, 0), -3: (0, 1000, 0),
                    -4: (0, -1, 0), -5: (0, -1, -1), -6: (0, -1, -1), -7: (35, -1, -1)}
        found = {timestamp: ask(timestamp) for timestamp in expected}
        assert found == expected, found
    node(run)


def B28_a_record_from_the_future():
    def run(_, c):
        c.create("t")
        assert c.produce("t", {0: batch([b"x"], timestamp_ms=NOW_MS + 10 * 365 * 86_400_000)})[0][0] == INVALID_TIMESTAMP
        assert c.produce("t", {0: batch([b"x"], timestamp_ms=NOW_MS + 30 * 60_000)})[0] == (0, 0)
    node(run)


def B28_a_record_from_the_future_leaves_by_its_age():
    """Kafka keeps its segment until that day."""
    def run(_, c):
        c.create("t", 1, {"message.timestamp.after.max.ms": 2**63 - 1, "retention.ms": 1000})
        assert c.produce("t", {0: batch([b"x"], timestamp_ms=NOW_MS + 10 * 365 * 86_400_000)})[0] == (0, 0)
        assert c.offsets("t", [0], -2)[0] == (0, 0)
        end = time.monotonic() + 20
        while c.offsets("t", [0], -2)[0] != (0, 1):
            assert time.monotonic() < end, "the segment stays"
            time.sleep(0.1)
    node(run, log_retention_check_interval_ms=200, log_initial_task_delay_ms=200)


def B29_validate_only_on_an_existing_name():
    def run(_, c):
        c.create("t")
        body = array([text("t") + struct.pack(">ih", 1, 1) + array([]) + array([])]) + struct.pack(">ib", 1000, 1)
        answer = c.call(19, 3, body)
        answer.take(">i")
        assert answer.array(lambda: (answer.text(), answer.take(">h"), answer.text()))[0][:2] == ("t", TOPIC_EXISTS)
    node(run)


def created_configs(c, topic, configs):
    """{key: (value, read only, source, sensitive)} of a topic that is made here; CreateTopics version 7."""
    answer = call(c, 19, 7, compact_array([compact(topic) + struct.pack(">ih", 1, 1) + b"\1" + compact_array(
        [compact(k) + compact(v) + b"\0" for k, v in configs.items()]) + b"\0"]) + struct.pack(">ib", 10000, 0) + b"\0")
    answer.take(">i")

    def config():
        row = answer.text(), (answer.text(), *answer.take(">bbb"))
        answer.tags()
        return row

    def created():
        answer.text()
        answer.at += 16
        assert answer.take(">h") == 0, answer.text()
        answer.text()
        answer.take(">ih")
        rows = dict(answer.array(config))
        answer.tags()
        return rows
    return answer.array(created)[0]


def described_configs(c, kind, name):
    """{key: (value, read only, source, sensitive, type, synonyms)}; DescribeConfigs version 4."""
    answer = call(c, 32, 4, compact_array([struct.pack(">b", kind) + compact(name) + b"\0\0"]) + b"\1\0\0")
    answer.take(">i")

    def synonym():
        row = answer.text(), answer.text(), answer.take(">b")
        answer.tags()
        return row

    def config():
        key, fixed = answer.text(), (answer.text(), *answer.take(">bbb"))
        synonyms, kind_of_value, documentation = answer.array(synonym), answer.take(">b"), answer.text()
        assert documentation is None
        answer.tags()
        return key, (*fixed, kind_of_value, synonyms)

    def resource():
        assert answer.take(">h") == 0, answer.text()
        answer.text()
        answer.take(">b")
        answer.text()
        rows = dict(answer.array(config))
        answer.tags()
        return rows
    return answer.array(resource)[0]


def topic_configs(c):
    """What both APIs tell of a topic with one override, a line for each key."""
    made, told = created_configs(c, "t", {"retention.ms": "86400000"}), described_configs(c, 2, "t")
    return [json.dumps([key, made.get(key), told.get(key)]) for key in sorted(made.keys() | told.keys())]


def B30_configurations_of_a_topic():
    """Compared with what Kafka 4.4.0 told on a node with no settings of its own."""
    def run(_, c):
        expected = (ROOT / "tests/data/configuration/topic-told.jsonl").read_text().splitlines()
        found = topic_configs(c)
        assert found == expected, "\n".join(difflib.unified_diff(expected, found, lineterm="", n=0))
    node(run)


def grow(c, topic, count):
    answer = c.call(37, 1, array([text(topic) + struct.pack(">i", count) + struct.pack(">i", -1)]) + struct.pack(">ib", 10000, 0))
    answer.take(">i")
    return answer.array(lambda: (answer.text(), answer.take(">h"), answer.text()))


def B32_one_answer_for_each_topic():
    def run(_, c):
        c.create(["t", "u"], 3)
        assert [row[:2] for row in grow(c, "t", 5)] == [("t", 0)]
        assert [row[:2] for row in grow(c, "t", 2)] == [("t", INVALID_PARTITIONS)]
        assert len(c.metadata(["t"])["t"][1]) == 5
        assert c.delete("t") == {"t": 0}
        assert c.delete("t") == {"t": UNKNOWN_TOPIC}
        answer = call(c, METADATA, 12, compact_array([bytes(16) + compact("u") + b"\0"]) + b"\0\0\0")
        answer.take(">i")
        answer.array(lambda: (answer.take(">i"), answer.text(), answer.take(">i"), answer.text(), answer.tags()))
        answer.text()
        answer.take(">i")
        answer.unsigned()
        assert answer.take(">h") == 0 and answer.text() == "u"
        topic_id = answer.data[answer.at:answer.at + 16]

        def delete_by_id():
            deleted = call(c, 20, 6, compact_array([b"\0" + topic_id + b"\0"]) + struct.pack(">i", 10000) + b"\0")
            deleted.take(">i")
            assert deleted.unsigned() == 2
            name = deleted.text()
            deleted.at += 16
            return name, deleted.take(">h")
        assert delete_by_id() == ("u", 0)
        assert delete_by_id() == (None, 100)  # UNKNOWN_TOPIC_ID
    node(run)


def describe(c, kind, name, keys=None):
    """{key: (value, source)}; version 1."""
    wanted = struct.pack(">i", -1) if keys is None else array([text(k) for k in keys])
    answer = c.call(32, 1, array([struct.pack(">b", kind) + text(name) + wanted]) + b"\0")
    answer.take(">i")

    def entry():
        key, value = answer.text(), answer.text()
        _, source, _ = answer.take(">bbb")
        answer.array(lambda: (answer.text(), answer.text(), answer.take(">b")))
        return key, (value, source)
    rows = answer.array(lambda: (answer.take(">h"), answer.text(), answer.take(">b"), answer.text(), dict(answer.array(entry))))
    assert len(rows) == 1 and rows[0][0] == 0, rows
    return rows[0][4]


def B34_more_partitions_leave_the_policy_alone():
    def run(_, c):
        c.create("t", 3, {"cleanup.policy": "compact"})
        assert grow(c, "t", 6)[0][1] == 0
        assert describe(c, 2, "t", ["cleanup.policy"]) == {"cleanup.policy": ("compact", 1)}
    node(run)


def B37_a_record_without_a_key_in_a_compacted_topic():
    def run(_, c):
        c.create("t", 1, {"cleanup.policy": "compact"})
        answer = c.call(PRODUCE, 8, produce_body("t", {0: batch([(b"k", b"good"), b"bad"])}))
        rows = answer.array(lambda: (answer.text(), answer.array(lambda: (
            answer.take(">ihqqq"), answer.array(lambda: (answer.take(">i"), answer.text())), answer.text()))))
        (_, error, *_), faults, _ = rows[0][1][0]
        assert error == INVALID_RECORD and [index for index, _ in faults] == [1], rows
        assert c.offsets("t", [0])[0] == (0, 0)
    node(run)


def B38_the_size_that_counts_is_the_compressed_one():
    def zipped(value):
        plain = batch([value])
        body = gzip.compress(plain[61:])
        tail = struct.pack(">h", 1) + plain[23:61] + body
        return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail

    def run(_, c):
        c.create("t", 1, {"max.message.bytes": 50_000})
        assert c.produce("t", {0: zipped(bytes(10_000_000))})[0] == (0, 0)
        assert c.produce("t", {0: zipped(os.urandom(60_000))})[0][0] == TOO_LARGE
        assert c.produce("t", {0: batch([bytes(60_000)])})[0][0] == TOO_LARGE
    node(run)


def B39_metadata_of_offsets():
    def run(_, c):
        c.create("t")

        def commit(metadata):
            body = text("g") + struct.pack(">i", -1) + text("") + struct.pack(">q", -1) + array(
                [text("t") + array([struct.pack(">iq", 0, 7) + text(metadata)])])
            end = time.monotonic() + 20
            while True:
                answer = c.call(8, 2, body)
                error = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ih"))))[0][1][0][1]
                if error not in (14, 15, 16) or time.monotonic() > end:
                    return error
                time.sleep(0.05)
        # The coordinator's topic is made when somebody asks where it is.
        c.call(10, 0, text("g"))
        assert commit("x" * 4000) == 0
        assert commit("x" * 5000) == OFFSET_METADATA_TOO_LARGE
        answer = c.call(9, 1, text("g") + array([text("t") + array([struct.pack(">i", 0)])]))
        rows = answer.array(lambda: (answer.text(), answer.array(lambda: (answer.take(">iq"), answer.text(), answer.take(">h")))))
        assert rows == [("t", [((0, 7), "x" * 4000, 0)])], rows
    node(run)


def B50_what_an_administrators_client_asks_first():
    def run(broker, c):
        answer = c.call(METADATA, 8, array([]) + b"\1\1\1")
        answer.take(">i")
        brokers = answer.array(lambda: (answer.take(">i"), answer.text(), answer.take(">i"), answer.text()))
        cluster_id, controller = answer.text(), answer.take(">i")
        assert len(cluster_id) == 22 and controller == brokers[0][0] == 1
        assert answer.array(lambda: None) == []
        # All that a cluster has: create, alter, describe, cluster action, describe and alter configurations, idempotent write.
        assert answer.take(">i") == sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
        own = describe(c, 4, "1")
        assert own["log.dirs"][0] == str(broker.data) and own["node.id"][0] == "1"
        describe(c, 4, "")
    node(run)


@contextlib.contextmanager
def file_system_of(size):
    """A folder on a file system of its own, and the command prefix of who is to see it."""
    work = Path(tempfile.mkdtemp(prefix="millrace-e2e-"))
    own = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    holder = subprocess.Popen([*own, "sh", "-c", f"mount -t tmpfs -o size={size} tmpfs {work} && echo ready && exec sleep 600"],
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"ready\n"
        yield work, ["nsenter", "-t", str(holder.pid), "-m", *([] if os.geteuid() == 0 else ["-U", "--preserve-credentials"])]
    finally:
        holder.kill()
        holder.wait()
        shutil.rmtree(work, ignore_errors=True)


def until_accepted(c, topic):
    end = time.monotonic() + 25
    while c.produce(topic, {0: batch([b"x"])})[0][0] != 0:
        assert time.monotonic() < end, "the space does not come back"
        time.sleep(0.1)


def B52_a_full_disk():
    """A file system of 200 MiB of its own, seen by the broker only."""
    with file_system_of("200m") as (work, enter):
        with Broker(prefix=enter, log_dirs=work / "data", log_segment_bytes=16 << 20, millrace_space_low_bytes=8 << 20) as broker:
            broker.start()
            with broker.connect() as c:
                c.create(["t", "other"])
                acknowledged, value = 0, os.urandom(900_000)
                data = batch([value])
                while True:
                    error, _ = c.produce("t", {0: data})[0]
                    if error != 0:
                        break
                    acknowledged += 1
                    assert acknowledged < 400
                assert error in (56, 19, 7), error  # all of them are tried again by clients
                assert len(c.read_all("t")) == acknowledged
            broker.kill()
            broker.start()
            with broker.connect() as c:
                rows = c.read_all("t")
                assert [row[0] for row in rows] == list(range(acknowledged)) and all(row[2] == value for row in rows)
                assert c.delete("t") == {"t": 0}
                until_accepted(c, "other")
            print(f"     full after {acknowledged} records of 0.9 MB: error {error}")


def B52_a_start_on_a_disk_without_room():
    """Somebody else has taken the last byte. Starts come up all the same, more than once; reads and deletions work, and what is
    written is refused until there is room again."""
    with file_system_of("100m") as (work, enter):
        with Broker(prefix=enter, log_dirs=work / "data", log_segment_bytes=4 << 20, millrace_space_low_bytes=4 << 20) as broker:
            broker.start()
            with broker.connect() as c:
                c.create(["t", "gone"], partitions=3)
                for part in range(3):
                    for _ in range(10):
                        assert c.produce("t", {part: batch([b"x" * 100_000])})[part][0] == 0
            subprocess.run([*enter, "sh", "-c", f"cat /dev/zero > {work}/filler"], stderr=subprocess.DEVNULL)
            free = subprocess.run([*enter, "stat", "-f", "-c", "%a", str(work)], capture_output=True, text=True, check=True)
            assert int(free.stdout) == 0, free
            for end in (broker.kill, broker.kill, broker.stop):
                end()
                broker.start()
                with broker.connect() as c:
                    assert [len(c.read_all("t", part)) for part in range(3)] == [10, 10, 10]
                    assert c.produce("t", {0: batch([b"x"])})[0][0] == STORAGE_ERROR
            log = (broker.directory / "log").read_text(errors="replace")
            assert log.count("is given up for this start") == 1, log[-4000:]
            ballast = [*enter, "test", "-e", str(work / "data/millrace-ballast")]
            assert subprocess.run(ballast).returncode == 1
            with broker.connect() as c:
                assert c.delete("gone") == {"gone": 0}
                subprocess.run([*enter, "rm", str(work / "filler")], check=True)
                until_accepted(c, "t")
                assert len(c.read_all("t")) == 11
            assert subprocess.run(ballast).returncode == 0


def B54_a_stop_after_many_deletions():
    def run(broker, c):
        names = [f"t{n}" for n in range(500)]
        assert set(c.create(names).values()) == {0}
        assert set(c.delete(names).values()) == {0}
        seconds, code = broker.stop()
        assert code == 0 and seconds < 3, (seconds, code)
        broker.start()
    # In memory where that is possible: how long a busy disk takes for the files of 500 topics is not the question.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    directory = tempfile.mkdtemp(prefix="millrace-e2e-", dir=place)
    try:
        node(run, directory=directory, log_segment_delete_delay_ms=0)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*(test for name, test in sorted(globals().items()) if name.startswith("B") and name[1].isdigit()))
