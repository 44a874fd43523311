#!/usr/bin/env python3
"""history-check reads what clients write, knows the epochs that they are not told, and speaks when something is wrong.

    history_check_test.py [TEST...]     CHAOS_PROGRAMS: folder of history-check
"""
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import wire  # noqa: E402
from cluster import PROGRAMS  # noqa: E402

DRIVER, PRODUCER, READER, FINAL, MEMBER, OTHER_MEMBER = range(6)
OK, UNKNOWN = 0, 2
IS_FINAL, IS_TIMED = 1, 2
COMMIT, COMMITTED = 4, 5
ASSIGNED, REVOKED, LOST = 1, 2, 3


def send(sequence, start, end, offset, outcome=OK):
    return struct.pack("<BBHIQqqq", 1, outcome, 0, 0, sequence, start, end, offset)


def poll(offsets, start, end, mark=-1, flags=0, epoch=-1, position=None, client=PRODUCER):
    """Of records whose sequence is their offset."""
    head = struct.pack("<BBHIIIqqqqqq", 2, flags, 0, 0, 0, len(offsets), start, end, offsets[0] if position is None else position, mark, -1, 0)
    return head + b"".join(struct.pack("<qQIi", offset, offset, client, epoch) for offset in offsets)


def latest(epoch, start, end, offset):
    return struct.pack("<BBHIiIqqq", 3, 1, 0, 0, epoch, 0, start, end, offset)


def group_offset(kind, start, end, offset, outcome=OK):
    return struct.pack("<BBHIIiqqq", kind, outcome, 0, 0, 0, -1, start, end, offset)


def owned(what, time):
    return struct.pack("<BBHIIiq", 6, what, 0, 0, 0, -1, time)


def calm(begin, end, epoch):
    return b"".join(struct.pack("<BBHIiIq", 7, is_end, 0, 0, epoch, 0, time) for is_end, time in enumerate((begin, end)))


def fault(number, begin, settled):
    return struct.pack("<BBHIqq", 8, 0, 0, number, begin, settled)


def good():
    """Ten records; the first five while epoch 3 was calm, two during a fault, the others while epoch 4 was."""
    times = [(100 * i, 100 * i + 50) for i in range(1, 11)]
    return {DRIVER: calm(50, 560, 3) + fault(1, 570, 790) + calm(795, 5000, 4),
            PRODUCER: b"".join(send(i, *time, i) for i, time in enumerate(times)),
            READER: poll([0, 1, 2], 300, 390, mark=3, epoch=3, flags=IS_TIMED) + poll([3, 4, 5, 6, 7, 8, 9], 1000, 1100, mark=10, epoch=4),
            FINAL: poll(list(range(10)), 2000, 2100, mark=10, flags=IS_FINAL)}


def verdict(files):
    with tempfile.TemporaryDirectory(prefix="millrace-history-") as folder:
        for client, rows in files.items():
            Path(folder, str(client)).write_bytes(struct.pack("<8sII", b"MRHIST01", client, 0) + rows)
        done = subprocess.run([PROGRAMS / "history-check", *(Path(folder, str(client)) for client in files)], stdout=subprocess.PIPE,
                              text=True, check=False)
        out = json.loads(done.stdout)
        assert done.returncode == (1 if out["violations"] else 0), done.returncode
        return out


def checks(files):
    return sorted({violation["check"] for violation in verdict(files)["violations"]})


def a_good_run_passes():
    out = verdict(good())
    assert out["violations"] == [], out
    assert out["counts"]["acknowledged"] == 10 and out["counts"]["final_records"] == 10, out
    assert out["gaps"] == [{"number": 1, "longest_ms": 0, "median_ms": 0, "after_ms": 0}], out


def what_is_wrong_is_found():
    ten = list(range(10))
    for wanted, client, rows in (
            ("C2", FINAL, poll(ten[:9], 2000, 2100, mark=9, flags=IS_FINAL)),  # the last is lost
            ("C3", FINAL, poll(ten, 2000, 2100, mark=11, flags=IS_FINAL) +
             struct.pack("<BBHIIIqqqqqq", 2, IS_FINAL, 0, 0, 0, 1, 0, 0, 10, 11, -1, 0) + struct.pack("<qQIi", 10, 4, PRODUCER, 4)),
            ("C7", READER, poll([0, 1, 2], 300, 390) + poll([4, 5], 1000, 1100, position=3)),  # one is skipped
            ("D4", FINAL, poll(ten, 2000, 2100, mark=10, flags=IS_FINAL, client=0xffffffff)),
            ("C6", READER, poll([0, 1, 2], 300, 390, mark=2))):  # read before it was committed
        assert wanted in checks({**good(), client: rows}), (wanted, checks({**good(), client: rows}))
    without = good()
    del without[FINAL]
    assert checks(without) == ["C2"]


def a_pipeline_that_is_reordered_is_found():
    files = {DRIVER: b"", PRODUCER: send(0, 100, 300, 1) + send(1, 100, 300, 0),
             FINAL: struct.pack("<BBHIIIqqqqqq", 2, IS_FINAL, 0, 0, 0, 2, 0, 0, 0, 2, -1, 0) +
             struct.pack("<qQIi", 0, 1, PRODUCER, -1) + struct.pack("<qQIi", 1, 0, PRODUCER, -1)}
    assert checks(files) == ["C4"], checks(files)


def old_ends_are_found_where_the_leader_is_known():
    asked = {**good()}
    asked[READER] += latest(4, 1200, 1210, 10) + latest(3, 1300, 1310, 5)  # the second from who led before, and was not told yet
    assert checks(asked) == [], checks(asked)
    asked[READER] += latest(4, 1400, 1410, 9)
    assert "C5" in checks(asked), checks(asked)
    # During the fault records 5 and 6 were appended in epoch 4: who leads in epoch 5 has them.
    fetched = {**good()}
    fetched[READER] += poll([9], 1200, 1210, mark=9, epoch=4, flags=IS_TIMED)
    assert "C5" in checks(fetched), checks(fetched)


def commits_that_are_lost_are_found():
    fine = {**good(), MEMBER: group_offset(COMMIT, 100, 150, 3) + group_offset(COMMIT, 200, 250, 5),
            OTHER_MEMBER: group_offset(COMMITTED, 600, 620, 5)}
    assert checks(fine) == [], checks(fine)
    assert checks({**fine, OTHER_MEMBER: group_offset(COMMITTED, 600, 620, 3)}) == ["C9"]
    # What was sent while the fault was at work may have been sent twice, and the second may come late.
    late = {**fine, MEMBER: group_offset(COMMIT, 600, 650, 3) + group_offset(COMMIT, 800, 850, 5)}
    assert checks({**late, OTHER_MEMBER: group_offset(COMMITTED, 900, 920, 3)}) == []


def times_without_acknowledgements_are_told():
    ms = 1_000_000
    sent = b"".join(send(i, at * ms - 1, at * ms, i) for i, at in enumerate((100, 200, 900, 1000, 1500, 1600)))
    files = {DRIVER: fault(1, 250 * ms, 1100 * ms) + fault(2, 1550 * ms, 1650 * ms), PRODUCER: sent,
             FINAL: poll(list(range(6)), 2000 * ms, 2100 * ms, mark=6, flags=IS_FINAL)}
    assert verdict(files)["gaps"] == [{"number": 1, "longest_ms": 650, "median_ms": 650, "after_ms": 400},
                                      {"number": 2, "longest_ms": 50, "median_ms": 50, "after_ms": 0}], verdict(files)["gaps"]


def two_owners_are_found():
    one, other = owned(ASSIGNED, 100), owned(ASSIGNED, 300) + owned(REVOKED, 400)
    assert checks({**good(), MEMBER: one + owned(REVOKED, 290), OTHER_MEMBER: other}) == []
    assert checks({**good(), MEMBER: one + owned(REVOKED, 310), OTHER_MEMBER: other}) == ["C10"]
    # Who lost it was told late, but a commit was accepted while another had it.
    assert checks({**good(), MEMBER: one + owned(LOST, 500), OTHER_MEMBER: other}) == []
    assert checks({**good(), MEMBER: one + group_offset(COMMIT, 350, 360, 3) + owned(LOST, 500), OTHER_MEMBER: other}) == ["C10"]


def a_file_that_ends_within_a_row_is_read_up_to_it():
    files = good()
    files[MEMBER] = group_offset(COMMIT, 100, 150, 3) + group_offset(COMMIT, 200, 250, 5)[:-1]
    assert verdict(files)["counts"]["commits"] == 1


if __name__ == "__main__":
    wire.main(a_good_run_passes, what_is_wrong_is_found, a_pipeline_that_is_reordered_is_found,
              old_ends_are_found_where_the_leader_is_known, commits_that_are_lost_are_found,
              times_without_acknowledgements_are_told, two_owners_are_found,
              a_file_that_ends_within_a_row_is_read_up_to_it)
