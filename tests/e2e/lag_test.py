#!/usr/bin/env python3
"""Lag as a node tells it (GET /lag, /metrics, `millrace group lag`): records and seconds since the first record that is
not committed was appended here, right to a second, also after restarts and kills and for records whose own times lie;
and when a group counts as stuck. Needs only Python."""
import json
import re
import struct
import subprocess
import time
import urllib.error
import urllib.request

from wire import Broker, array, batch, main, text

OFFSET_COMMIT, DELETE_GROUPS = 8, 42
HOUR_MS = 3_600_000


def admin(broker, path):
    with urllib.request.urlopen(f"http://{broker.settings['millrace.admin.listener']}{path}", timeout=30) as answer:
        return answer.read().decode()


def commit(connection, group, topic, parts):
    """Commits {partition: offset} for a group without members; version 2."""
    body = text(group) + struct.pack(">i", -1) + text("") + struct.pack(">q", -1) + array([text(topic) + array(
        [struct.pack(">iq", p, o) + text("") for p, o in parts.items()])])
    end = time.monotonic() + 30
    while True:
        answer = connection.call(OFFSET_COMMIT, 2, body)
        codes = [code for _, rows in answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ih")))) for _, code in rows]
        if not any(codes):
            return
        # The coordinators' topic is made by the first who asks.
        assert time.monotonic() < end, codes
        time.sleep(0.1)


def find_coordinator(connection, group):
    connection.call(10, 1, text(group) + b"\0")


def lag(broker, group, topic="orders", partition=0):
    for one in json.loads(admin(broker, f"/lag?group={group}"))["groups"]:
        for part in one["partitions"]:
            if (part["topic"], part["partition"]) == (topic, partition):
                return part
    raise KeyError((group, topic, partition))


def append_spaced(connection, count, pause_s, timestamp_ms):
    """One record at a time; returns when each was appended."""
    times = []
    for i in range(count):
        connection.produce("orders", {0: batch([b"x%d" % i], timestamp_ms=timestamp_ms)})
        times.append(time.time())
        time.sleep(pause_s)
    return times


def check_seconds(broker, connection, times, allowance_s=1.0):
    """Each offset as the first that is not committed."""
    for offset, appended in enumerate(times):
        commit(connection, "g", "orders", {0: offset})
        part = lag(broker, "g")
        assert part["lag_records"] == len(times) - offset, part
        wanted = time.time() - appended
        assert wanted - allowance_s - 0.2 <= part["lag_seconds"] <= wanted + allowance_s + 0.2, (offset, part, wanted)
    commit(connection, "g", "orders", {0: len(times)})
    part = lag(broker, "g")
    assert (part["lag_records"], part["lag_seconds"]) == (0, 0), part


def seconds_are_right_although_the_records_times_lie():
    for lie_ms in (-5 * HOUR_MS, HOUR_MS * 5 // 6):
        with Broker().start() as broker, broker.connect() as connection:
            connection.create("orders")
            find_coordinator(connection, "g")
            times = append_spaced(connection, 12, 0.45, int(time.time() * 1000) + lie_ms)
            check_seconds(broker, connection, times)


def seconds_survive_a_clean_restart():
    with Broker().start() as broker:
        with broker.connect() as connection:
            connection.create("orders")
            find_coordinator(connection, "g")
            times = append_spaced(connection, 8, 0.6, int(time.time() * 1000) - 5 * HOUR_MS)
        assert broker.stop()[1] == 0
        time.sleep(3)
        broker.start()
        with broker.connect() as connection:
            times += append_spaced(connection, 4, 0.6, int(time.time() * 1000) - 5 * HOUR_MS)
            check_seconds(broker, connection, times)


def after_a_kill_honest_records_still_give_right_seconds():
    with Broker().start() as broker:
        with broker.connect() as connection:
            connection.create("orders")
            find_coordinator(connection, "g")
            times = []
            for i in range(6):
                connection.produce("orders", {0: batch([b"x%d" % i])})
                times.append(time.time())
                time.sleep(0.5)
        broker.kill()
        time.sleep(2)
        broker.start()
        with broker.connect() as connection:
            check_seconds(broker, connection, times)


def stuck_is_told_and_taken_back():
    with Broker(millrace_group_stuck_ms=2000).start() as broker, broker.connect() as connection:
        connection.create("orders")
        find_coordinator(connection, "g")
        connection.produce("orders", {0: batch([b"a"] * 10)})
        commit(connection, "g", "orders", {0: 4})
        assert not lag(broker, "g")["stuck"]
        time.sleep(3.5)
        assert not lag(broker, "g")["stuck"], "nothing was appended meanwhile"
        connection.produce("orders", {0: batch([b"b"])})
        # Found by the node itself, without anybody looking in between.
        time.sleep(1)
        assert lag(broker, "g")["stuck"]
        metrics = admin(broker, "/metrics")
        assert 'millrace_group_stuck{group="g",topic="orders",partition="0"} 1' in metrics
        assert "\nmillrace_group_partitions_stuck 1\n" in metrics
        commit(connection, "g", "orders", {0: 4})
        assert lag(broker, "g")["stuck"], "a commit that moves nothing is no progress"
        commit(connection, "g", "orders", {0: 5})
        assert not lag(broker, "g")["stuck"]
        assert "\nmillrace_group_partitions_stuck 0\n" in admin(broker, "/metrics")


def metrics_are_bounded_and_say_what_is_left_out():
    with Broker(millrace_metrics_group_partitions_max=5, millrace_metrics_topics_max=2).start() as broker, \
            broker.connect() as connection:
        connection.create(["a", "b", "c", "d"], partitions=4)
        find_coordinator(connection, "g")
        connection.produce("a", {0: batch([b"x"] * 3)})
        connection.produce("d", {1: batch([b"x"] * 7)})
        for group in ("one", "two", "three"):
            commit(connection, group, "d", {0: 0, 1: 2, 2: 0})
        metrics = admin(broker, "/metrics")
        assert len(re.findall(r"^millrace_group_lag_records\{", metrics, re.M)) == 5, metrics
        assert "\nmillrace_group_partitions_left_out 4\n" in metrics
        assert "\nmillrace_group_offsets 9\n" in metrics
        topics = set(re.findall(r'^millrace_topic_in_records_total\{topic="([^"]+)"\}', metrics, re.M))
        assert len(topics) == 3 and "(other)" in topics, topics
        total = sum(int(n) for n in re.findall(r'^millrace_topic_in_records_total\{topic="[^_"][^"]*"\} (\d+)', metrics, re.M))
        assert total >= 10, metrics
        # A named group is shown whole.
        for group in ("one", "two", "three"):
            (shown,) = json.loads(admin(broker, f"/lag?group={group}"))["groups"]
            assert [p["partition"] for p in shown["partitions"]] == [0, 1, 2] and shown["lag_records"] == 5, shown


def errors_and_times_are_counted():
    with Broker().start() as broker, broker.connect() as connection:
        connection.create("orders")
        assert connection.produce("nowhere", {0: batch([b"x"])})[0][0] == 3
        assert connection.produce("orders", {0: batch([b"x"]), 7: batch([b"x"])})[7][0] == 3
        metrics = admin(broker, "/metrics")
        assert '\nmillrace_request_errors_total{api="Produce"} 2\n' in metrics
        assert '\nmillrace_errors_total{error="UNKNOWN_TOPIC_OR_PARTITION"} 2\n' in metrics
        assert '\nmillrace_requests_total{api="Produce"} 2\n' in metrics
        assert '\nmillrace_request_seconds_count{api="Produce"} 2\n' in metrics
        assert '\nmillrace_topic_in_records_total{topic="orders"} 1\n' in metrics
        before = int(re.search(r'millrace_topic_out_bytes_total\{topic="orders"\} (\d+)', metrics)[1])
        assert before == 0
        assert len(connection.fetch("orders", {0: 0})[0][2]) > 0
        metrics = admin(broker, "/metrics")
        assert int(re.search(r'millrace_topic_out_bytes_total\{topic="orders"\} (\d+)', metrics)[1]) > 60


def the_command_line_shows_the_same():
    with Broker(millrace_group_stuck_ms=1000).start() as broker, broker.connect() as connection:
        connection.create("orders", partitions=2)
        find_coordinator(connection, "g 1/2")
        connection.produce("orders", {0: batch([b"a"] * 10), 1: batch([b"a"])})
        commit(connection, "g 1/2", "orders", {0: 4, 1: 1})
        commit(connection, "h", "orders", {0: 10})

        def run(*arguments):
            return subprocess.run([broker.millrace, "group", "lag", "--admin", broker.settings["millrace.admin.listener"], *arguments],
                                  capture_output=True, text=True, timeout=60)
        shown = run("g 1/2", "--json")
        assert shown.returncode == 0, shown
        (group,) = json.loads(shown.stdout)
        assert group["group"] == "g 1/2" and group["lag_records"] == 6 and group["state"] == "Empty", group
        rows = [line.split() for line in run().stdout.splitlines()]
        assert rows[0] == ["GROUP", "STATE", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "SECONDS", "STUCK"], rows
        assert len(rows) == 4 and rows[3][:7] == ["h", "Empty", "orders", "0", "10", "10", "0"], rows
        missing = run("nobody")
        assert missing.returncode == 1 and "no group nobody" in missing.stderr, missing
        nobody = subprocess.run([broker.millrace, "group", "lag", "--admin", "127.0.0.1:1"], capture_output=True, text=True, timeout=60)
        assert nobody.returncode == 3 and "millrace.admin.listener" in nobody.stderr, nobody


def hot_partitions_and_keys_are_found():
    with Broker().start() as broker, broker.connect() as connection:
        connection.create(["orders", "quiet", "binary"], partitions=4)
        hot = [(b"customer-7", b"x" * 200)] * 30 + [(b"customer-%d" % (100 + i), b"x" * 200) for i in range(70)]
        for _ in range(20):
            connection.produce("orders", {2: batch(hot)})
        connection.produce("orders", {0: batch([(b"a", b"x")] * 5)})
        connection.produce("binary", {1: batch([(b"\xff\x00\x01", b"x")] * 5)})
        connection.fetch("orders", {2: 0})
        answer = json.loads(admin(broker, "/hot"))
        assert [t["topic"] for t in answer["topics"]] == ["orders", "binary"], answer
        orders = answer["topics"][0]
        first = orders["partitions"][0]
        assert first["partition"] == 2 and first["bytes_in_per_second"] > 10 * orders["partitions"][1]["bytes_in_per_second"], orders
        assert first["bytes_out_per_second"] > 0 and 3.9 < orders["skew_in"] <= 4, orders
        assert first["keys"][0]["key"] == "customer-7" and abs(first["keys"][0]["share"] - 0.3) < 0.02, first
        assert answer["topics"][1]["partitions"][0]["keys"][0]["key"] == "0xff0001", answer
        (only,) = json.loads(admin(broker, "/hot?topic=quiet&partition=3"))["topics"]
        assert [p["partition"] for p in only["partitions"]] == [3], only

        def hot_command(*arguments):
            return subprocess.run([broker.millrace, "topic", "hot", *arguments, "--admin", broker.settings["millrace.admin.listener"]],
                                  capture_output=True, text=True, timeout=60)
        shown = hot_command()
        row = shown.stdout.splitlines()[1].split()
        assert shown.returncode == 0 and row[1:4] == ["orders", f"{orders['skew_in']:.2f}", "2"] and "customer-7" in row, shown
        assert hot_command("quiet").returncode == 0
        for more in ((), ("--json",)):
            missing = hot_command("NOPE", *more)
            assert missing.returncode == 1 and "no topic NOPE" in missing.stderr and not missing.stdout, missing


def health_is_told_apart():
    with Broker().start() as broker:
        assert admin(broker, "/live") == "live\n" and admin(broker, "/healthz") == "live\n"
        assert admin(broker, "/ready").startswith("serving") and admin(broker, "/readyz").startswith("serving")
        try:
            admin(broker, "/nothing")
            raise AssertionError("answered")
        except urllib.error.HTTPError as error:
            assert error.code == 404


if __name__ == "__main__":
    main(seconds_are_right_although_the_records_times_lie, seconds_survive_a_clean_restart,
         after_a_kill_honest_records_still_give_right_seconds, stuck_is_told_and_taken_back,
         metrics_are_bounded_and_say_what_is_left_out, errors_and_times_are_counted, the_command_line_shows_the_same,
         hot_partitions_and_keys_are_found,
         health_is_told_apart)
