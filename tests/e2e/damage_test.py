#!/usr/bin/env python3
"""Proves what a restart makes of a data directory that was damaged, mixed up or only half written: nothing acknowledged is
lost or doubled, an older topic of the same name leaves no trace, damage is told apart from a torn end, foreign data is neither
served nor thrown away, and one bad partition does not take the others along. (ST-10, ST-13, ST-15, ST-16, ST-17, RC-03, RP-09.)
"""
import glob
import os
import random
import shutil
import signal
import struct
import threading
import time

from wire import PRODUCE, Broker, batch, main, produce_body

SEED = int(os.environ.get("SEED", "1"))


def fill(broker, count=50):
    with broker.connect() as c:
        c.create("t", 2)
        for n in range(count):
            assert c.produce("t", {0: batch([b"v%d" % n]), 1: batch([b"w%d" % n])}) == {0: (0, n), 1: (0, n)}


def last_log(broker, partition=0, topic="t"):
    return sorted(glob.glob(f"{broker.data}/{topic}-{partition}/*.log"))[-1]


def batches_end(path):
    data, at = open(path, "rb").read(), 0
    while at + 12 <= len(data) and struct.unpack_from(">i", data, at + 8)[0] > 0:
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    return at


def count_of(broker, partition):
    """How many records it holds, all of them as they were written; or the error of a fetch."""
    with broker.connect() as c:
        error = c.fetch("t", {partition: 0})[partition][0]
        if error:
            return f"error {error}"
        letter = b"vw"[partition:partition + 1]
        rows = c.read_all("t", partition)
        assert rows == [(n, None, b"%s%d" % (letter, n)) for n in range(len(rows))], rows
        return len(rows)


def after(damage, is_clean):
    """What partition 0 holds after a stop, the damage and a start; partition 1 always holds all."""
    with Broker() as broker:
        broker.start()
        fill(broker)
        broker.stop() if is_clean else broker.kill()
        damage(broker)
        broker.start()
        found = count_of(broker, 0)
        assert count_of(broker, 1) == 50
        with broker.connect() as c:
            assert c.produce("t", {1: batch([b"w50"])}) == {1: (0, 50)}
        broker.kill()
        broker.start()
        assert count_of(broker, 0) == found and count_of(broker, 1) == 51, "another start gives another log"
        return found


def write_at(path, position, data, is_end):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)
        if is_end:
            file.truncate()


def torn_end():
    garbage = random.Random(SEED).randbytes(500)
    cases = {
        "garbage behind the end": (lambda b: write_at(last_log(b), batches_end(last_log(b)), garbage, True), 50),
        "zeros behind the end": (lambda b: write_at(last_log(b), batches_end(last_log(b)), b"\0" * 5000, True), 50),
        "half a batch": (lambda b: write_at(last_log(b), batches_end(last_log(b)) - 10, b"", True), 49),
        "a flipped byte in the last batch": (lambda b: write_at(last_log(b), batches_end(last_log(b)) - 3, b"\xee", True), 49),
        "a flipped byte in the middle": (lambda b: write_at(last_log(b), 1500, b"\xee\xee", False), "error 56"),
    }
    for name, (damage, expected) in cases.items():
        found = after(damage, is_clean=False)
        assert found == expected, f"{name}: {found}, expected {expected}"


def missing_bytes_that_were_synced():
    cases = {
        "half a batch": lambda b: write_at(last_log(b), batches_end(last_log(b)) - 10, b"", True),
        "a whole batch": lambda b: write_at(last_log(b), 0, b"", True),
        "the file": lambda b: os.unlink(last_log(b)),
    }
    for name, damage in cases.items():
        found = after(damage, is_clean=True)
        assert found == "error 56", f"{name}: {found}"


def helper_files():
    def garble(pattern, content):
        def damage(broker):
            for path in glob.glob(f"{broker.data}/{pattern}"):
                if content is None:
                    os.unlink(path)
                else:
                    open(path, "wb").write(content * (os.path.getsize(path) if len(content) == 1 else 1))
        return damage
    for is_clean in (False, True):
        for pattern in ("t-*/*index", "t-*/*.snapshot", "t-*/leader-epoch-checkpoint", "t-0/partition.metadata",
                        "*checkpoint", "millrace-*", "__cluster_metadata-0/*index", "t-*/millrace-*"):
            for content in random.Random(SEED).sample([None, b"\0", b"\xff\x00garbage\n\n7 8 9 10"], 1 if is_clean else 2):
                found = after(garble(pattern, content), is_clean)
                assert found == 50, f"{pattern} set to {content}, clean stop {is_clean}: {found}"


def older_topic_of_the_same_name():
    with Broker() as broker:
        broker.start()
        fill(broker)
        with broker.connect() as c:
            assert c.delete_records("t", {0: 40, 1: 50}) == {0: (40, 0), 1: (50, 0)}
        broker.stop()  # the checkpoints know of it now
        broker.start()
        with broker.connect() as c:
            assert c.delete("t") == {"t": 0} and c.create("t", 2) == {"t": 0}
            for n in range(5):
                assert c.produce("t", {0: batch([b"v%d" % n]), 1: batch([b"w%d" % n])}) == {0: (0, n), 1: (0, n)}
        broker.kill()
        broker.start()
        assert (count_of(broker, 0), count_of(broker, 1)) == (5, 5)
        # The same with a restart between deletion and creation.
        with broker.connect() as c:
            c.delete_records("t", {0: 5})
        broker.stop()
        broker.start()
        with broker.connect() as c:
            c.delete("t")
        broker.kill()
        broker.start()
        with broker.connect() as c:
            assert c.create("t", 2) == {"t": 0}
            assert c.produce("t", {0: batch([b"v0"])}) == {0: (0, 0)}
        broker.kill()
        broker.start()
        assert (count_of(broker, 0), count_of(broker, 1)) == (1, 0)


def foreign_data():
    with Broker() as broker:
        broker.start()
        fill(broker)
        broker.stop()
        # A partition that the cluster does not know is set aside with all its bytes, and says so.
        shutil.copytree(f"{broker.data}/t-1", f"{broker.data}/t-7")
        os.mkdir(f"{broker.data}/lost+found")
        broker.start()
        assert (count_of(broker, 0), count_of(broker, 1)) == (50, 50)
        wait_until(lambda: not os.path.exists(f"{broker.data}/t-7"))
        aside = glob.glob(f"{broker.data}/t-7.*-stray")
        assert len(aside) == 1 and batches_end(glob.glob(aside[0] + "/*.log")[0]) > 0
        wait_until(lambda: "t-7 in" in broker.tail())
        # A second process, another node, another cluster, a lost identity: refused, and nothing is written.
        for settings, why in (({}, "another process holds it"),):
            second = Broker(broker.directory)
            second.settings.update(settings)
            assert why in refusal(second), why
        assert broker.alive()
        broker.stop()
        before = listing(broker)
        port = broker.port + 1
        for settings, why in (({"node.id": 2, "controller.quorum.voters": f"2@127.0.0.1:{port}"}, "belongs to node 1, this is node 2"),
                              ({"millrace.cluster.id": "AAAAAAAAAAAAAAAAAAAAAQ"}, "this node to AAAAAAAAAAAAAAAAAAAAAQ")):
            other = Broker(broker.directory)
            other.settings.update(settings)
            assert why in refusal(other), why
            assert listing(broker) == before, f"something was written before: {why}"
        os.rename(broker.data / "meta.properties", broker.directory / "meta.properties")
        assert "no meta.properties" in refusal(Broker(broker.directory))
        os.rename(broker.directory / "meta.properties", broker.data / "meta.properties")
        assert listing(broker) == before
        shutil.move(broker.data / "__cluster_metadata-0", broker.directory / "metadata")
        assert "has no metadata log" in refusal(Broker(broker.directory))
        shutil.move(broker.directory / "metadata", broker.data / "__cluster_metadata-0")
        broker.start()
        assert (count_of(broker, 0), count_of(broker, 1)) == (50, 50)


def a_partition_in_two_log_directories():
    with Broker() as broker:
        one, other = broker.data, broker.directory / "other"
        broker.settings |= {"log.dirs": f"{one},{other}", "metadata.log.dir": one}
        broker.start()
        fill(broker)
        broker.stop()
        place, copy = (one, other) if (one / "t-0").exists() else (other, one)
        shutil.copytree(place / "t-0", copy / "t-0")
        why = refusal(broker)
        assert f"t-0 lies in both {one} and {other}" in why, why
        shutil.rmtree(copy / "t-0")
        broker.start()
        assert (count_of(broker, 0), count_of(broker, 1)) == (50, 50)


def wait_until(condition, timeout=10):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.02)


def refusal(broker):
    broker.start(wait=False)
    assert broker.process.wait(20) != 0
    return broker.tail()


def listing(broker):
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in broker.data.rglob("*") if p.name != ".lock" and p.is_file())


def stopped_during_its_start(rounds=12):
    """SIGTERM at any moment of a start after a kill ends it cleanly: the logs that were still to be recovered are, and the mark
    of a clean stop is there. (In the first milliseconds the signal may find a process that does not know it yet.)"""
    mark = lambda broker: os.path.exists(f"{broker.data}/.kafka_cleanshutdown")
    with Broker() as broker:
        broker.start()
        fill(broker)
        with broker.connect() as c:
            c.create("many", 400)
        clean_count = 0
        for n in range(rounds):
            broker.kill()
            broker.start(wait=False)
            time.sleep(0.01 + 0.02 * n)
            _, code = broker.stop()
            assert code in (0, -signal.SIGTERM), f"round {n} ended with {code}:\n{broker.tail()}"
            assert mark(broker) == (code == 0), f"round {n}: {code}"
            clean_count += code == 0
            broker.start()
            assert [count_of(broker, p) for p in (0, 1)] == [50, 50]
        assert clean_count >= rounds // 2, clean_count


def killed_again_and_again(rounds=8):
    """Three idempotent producers with five batches in flight, resent after each kill; between kill and start helper files
    are removed or garbled. Every value stands once, at the offset that was acknowledged, in order."""
    source = random.Random(SEED)
    acked, failures, stop = {p: {} for p in range(3)}, [], threading.Event()

    def produce(broker, partition):
        pid = epoch = connection = None
        pending, sent, sequence, number = [], [], 0, 0
        rng = random.Random(SEED * 10 + partition)
        while not stop.is_set():
            try:
                if connection is None:
                    connection = broker.connect(5)
                    if pid is None:
                        pid, epoch = connection.init_producer()
                    sent = [connection.send(PRODUCE, 7, produce_body("k", {partition: data})) for _, data in pending]
                while len(sent) < 5:
                    values = [b"%d-%d-" % (number, i) + b"z" * rng.randrange(2000) for i in range(rng.randrange(1, 4))]
                    pending.append((values, batch(values, pid, epoch, sequence)))
                    sequence, number = sequence + len(values), number + 1
                    sent.append(connection.send(PRODUCE, 7, produce_body("k", {partition: pending[len(sent)][1]})))
                error, base = connection.produced(connection.receive(sent[0]))[partition]
                if error:
                    failures.append(f"partition {partition}: error {error}")
                    return
                sent.pop(0)
                for i, value in enumerate(pending.pop(0)[0]):
                    acked[partition][value] = base + i
            except OSError:
                connection = None
                time.sleep(0.005)

    def damage(broker):
        kind = source.choice(["none", "*index", "*.snapshot", "leader-epoch-checkpoint", "../*checkpoint*"])
        for path in glob.glob(f"{broker.data}/k-*/{kind}"):
            if os.path.exists(path) and source.random() < 0.5:
                os.unlink(path)
            elif os.path.exists(path):
                open(path, "wb").write(source.randbytes(source.randrange(200)))

    with Broker(log_segment_bytes=1 << 20, log_index_interval_bytes=256) as broker:
        broker.start()
        with broker.connect() as c:
            c.create("k", 3)
        threads = [threading.Thread(target=produce, args=(broker, p)) for p in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(rounds):
            time.sleep(source.uniform(0.1, 0.5))
            broker.kill()
            damage(broker)
            broker.start()
        time.sleep(0.2)
        stop.set()
        for thread in threads:
            thread.join()
        assert not failures, failures
        for end in ("none", "clean", "killed"):
            if end != "none":
                broker.stop() if end == "clean" else broker.kill()
                broker.start()
            with broker.connect() as c:
                for partition in range(3):
                    rows = c.read_all("k", partition)
                    at = {value: offset for offset, _, value in rows}
                    assert [offset for offset, _, _ in rows] == list(range(len(rows)))
                    assert len(at) == len(rows), f"{len(rows) - len(at)} doubled"
                    lost = [offset for value, offset in acked[partition].items() if at.get(value) != offset]
                    assert not lost, f"partition {partition}: {len(lost)} acknowledged records lost or moved, first {lost[0]}"
                    order = [tuple(map(int, value.split(b"-")[:2])) for _, _, value in rows]
                    assert order == sorted(order)
        print(f"     {sum(map(len, acked.values()))} records acknowledged over {rounds} kills")


if __name__ == "__main__":
    main(torn_end, missing_bytes_that_were_synced, helper_files, older_topic_of_the_same_name, foreign_data,
         a_partition_in_two_log_directories, stopped_during_its_start, killed_again_and_again)
