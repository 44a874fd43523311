#!/usr/bin/env python3
"""Proves that what an administrator changes takes effect on a running node and stays: settings of topics and brokers, quotas
(the answer first, then silence for the time that it names), the node's file read again on SIGHUP; and that a service manager
is told when the node serves and when it stops.
"""
import os
import signal
import socket
import struct
import time

from wire import CREATE_TOPICS, PRODUCE, Broker, array, batch, main, produce_body, text

INCREMENTAL_ALTER_CONFIGS, ALTER_CLIENT_QUOTAS, DESCRIBE_CONFIGS = 44, 49, 32
TOPIC, BROKER = 2, 4
SET, REMOVE = 0, 1
MESSAGE_TOO_LARGE, INVALID_REQUEST = 10, 42
CLIENT = "breaker"  # as wire.py calls itself


def alter(c, kind, name, key, value):
    change = array([text(key) + struct.pack(">b", REMOVE if value is None else SET) + text(value)])
    body = array([struct.pack(">b", kind) + text(name) + change]) + b"\0"
    answer = c.call(INCREMENTAL_ALTER_CONFIGS, 0, body)
    answer.take(">i")
    return answer.array(lambda: (answer.take(">h"), answer.text(), answer.take(">b"), answer.text()))[0][0]


def described(c, kind, name, key):
    answer = c.call(DESCRIBE_CONFIGS, 1, array([struct.pack(">b", kind) + text(name) + array([text(key)])]) + b"\0")
    answer.take(">i")

    def config():
        row = answer.text(), answer.text()
        answer.take(">bbb")
        answer.array(lambda: (answer.text(), answer.text(), answer.take(">b")))
        return row
    rows = answer.array(lambda: (answer.take(">h"), answer.text(), answer.take(">b"), answer.text(), answer.array(config)))
    return dict(rows[0][4])[key]


def set_quota(c, key, value):
    entity = array([text("client-id") + text(CLIENT)])
    answer = c.call(ALTER_CLIENT_QUOTAS, 0, array([entity + array([text(key) + struct.pack(">db", value, 0)])]) + b"\0")
    answer.take(">i")
    assert answer.take(">h") == 0, answer.text()


def settings_count_at_once_and_after_a_restart():
    with Broker() as broker:
        broker.start()
        with broker.connect() as c:
            c.create("t")
            assert c.produce("t", {0: batch([b"x" * 1000])})[0] == (0, 0)
            assert alter(c, BROKER, "", "message.max.bytes", "500") == 0
            assert c.produce("t", {0: batch([b"x" * 1000])})[0][0] == MESSAGE_TOO_LARGE
            assert alter(c, TOPIC, "t", "max.message.bytes", "2000") == 0
            assert c.produce("t", {0: batch([b"x" * 1000])})[0] == (0, 1)
            assert c.produce("t", {0: batch([b"x" * 3000])})[0][0] == MESSAGE_TOO_LARGE
        broker.kill()
        broker.start()
        with broker.connect() as c:
            assert described(c, TOPIC, "t", "max.message.bytes") == "2000"
            assert c.produce("t", {0: batch([b"x" * 3000])})[0][0] == MESSAGE_TOO_LARGE
            assert alter(c, TOPIC, "t", "max.message.bytes", None) == 0
            assert c.produce("t", {0: batch([b"x" * 1000])})[0][0] == MESSAGE_TOO_LARGE
            assert alter(c, BROKER, "", "message.max.bytes", None) == 0
            assert c.produce("t", {0: batch([b"x" * 3000])})[0] == (0, 2)


def keys_that_only_count_in_the_nodes_file_are_refused():
    """Of those of SASL only the ones that say how long a login lasts are taken: others would promise what does not happen."""
    with Broker() as broker:
        broker.start()
        with broker.connect() as c:
            for key in ("sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.kerberos.service.name", "ssl.keystore.location"):
                assert alter(c, BROKER, "1", key, "x") == INVALID_REQUEST, key
            for key, value in {"sasl.kerberos.min.time.before.relogin": "58000", "sasl.login.refresh.window.factor": "0.9"}.items():
                assert alter(c, BROKER, "1", key, value) == 0, key


def who_is_above_a_quota_is_answered_and_then_muted():
    with Broker() as broker:
        broker.start()
        with broker.connect() as c:
            c.create("t")
            c.produce("t", {0: batch([b"x" * 150_000])})
            set_quota(c, "producer_byte_rate", 10_000)
            begin = time.monotonic()
            answer = c.call(PRODUCE, 7, produce_body("t", {0: batch([b"x" * 115_000])}))
            answered = time.monotonic() - begin
            parts = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ihqqq"))))
            throttle = answer.take(">i") / 1000
            assert parts[0][1][0][1] == 0, parts
            assert 1.3 < throttle < 1.8, throttle  # 1.5 s more than ten seconds' worth
            assert answered < throttle / 2, (answered, throttle)
            c.metadata([])
            muted = time.monotonic() - begin
            assert throttle - 0.01 <= muted < throttle + 1, (muted, throttle)
        with broker.connect() as c:
            set_quota(c, "consumer_byte_rate", 1_000)
            assert c.fetch("t", {0: 0}) == {}  # nothing but the time


def log_of(broker):
    return (broker.directory / "log").read_text(errors="replace")


def create_topic(c, version, name, partitions):
    """The throttle time in seconds and the topic's error."""
    topic = text(name) + struct.pack(">ih", partitions, 1) + array([]) + array([])
    answer = c.call(CREATE_TOPICS, version, array([topic]) + struct.pack(">ib", 20000, 0))
    throttle = answer.take(">i") / 1000
    assert answer.take(">i") == 1
    assert answer.text() == name
    return throttle, answer.take(">h")


def who_changes_too_many_partitions_is_muted():
    with Broker() as broker:
        broker.start()
        with broker.connect() as c:
            set_quota(c, "controller_mutation_rate", 2)
            assert create_topic(c, 4, "a", 20) == (0, 0)
            throttle, error = create_topic(c, 4, "b", 5)  # 22 tokens at most
            begin = time.monotonic()
            assert error == 0 and 1 < throttle < 1.6, (throttle, error)
            c.metadata([])
            assert time.monotonic() - begin > throttle - 0.05


def the_cleaner_follows_its_settings():
    """A backoff of an hour in the file, a tenth of a second from the cluster."""
    with Broker(log_cleaner_backoff_ms=3_600_000) as broker:
        broker.start()
        with broker.connect() as c:
            c.create("t")
            for key, value in (("cleanup.policy", "compact"), ("segment.ms", "1"), ("min.cleanable.dirty.ratio", "0.01"),
                               ("delete.retention.ms", "0")):
                assert alter(c, TOPIC, "t", key, value) == 0
            for round in range(6):
                assert c.produce("t", {0: batch([(b"k", b"x" * 1000)])})[0][0] == 0
                time.sleep(0.02)
            time.sleep(1)
            assert "cleaner" not in log_of(broker), broker.tail()
            assert alter(c, BROKER, "", "log.cleaner.dedupe.buffer.size", "1000") == INVALID_REQUEST
            assert alter(c, BROKER, "", "log.cleaner.threads", "3") == INVALID_REQUEST
            assert alter(c, BROKER, "", "log.cleaner.threads", "2") == 0
            assert alter(c, BROKER, "", "log.cleaner.backoff.ms", "100") == 0
            end = time.monotonic() + 10
            while "cleaner" not in log_of(broker):
                assert time.monotonic() < end, broker.tail()
                time.sleep(0.05)


def the_file_is_read_again():
    with Broker() as broker:
        file = broker.directory / "node.properties"
        path = str(broker.directory / "notify")
        base = "".join(f"{key}={value}\n" for key, value in broker.settings.items())
        broker.command = lambda: [broker.millrace, "serve", "--config", str(file)]
        os.environ["NOTIFY_SOCKET"] = path
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(30)
            file.write_text(base)
            try:
                broker.start()
            finally:
                del os.environ["NOTIFY_SOCKET"]
            assert manager.recv(100) == b"READY=1"

            def reload(content, key, value):
                file.write_text(content)
                broker.process.send_signal(signal.SIGHUP)
                end = time.monotonic() + 10
                while described(c, BROKER, "1", key) != value:
                    assert time.monotonic() < end, (key, described(c, BROKER, "1", key))
                    time.sleep(0.02)

            with broker.connect() as c:
                c.create("t")
                reload(base + "message.max.bytes=500\nnum.partitions=7\n", "message.max.bytes", "500")
                assert described(c, BROKER, "1", "num.partitions") == "1"  # from the next start on
                assert c.produce("t", {0: batch([b"x" * 1000])})[0][0] == MESSAGE_TOO_LARGE
                file.write_text(base + "message.max.bytes=many\n")
                broker.process.send_signal(signal.SIGHUP)  # changes nothing
                time.sleep(0.3)
                assert described(c, BROKER, "1", "message.max.bytes") == "500"
                reload(base, "message.max.bytes", "1048588")
                assert c.produce("t", {0: batch([b"x" * 1000])})[0] == (0, 0)
            broker.stop()
            assert manager.recv(100) == b"STOPPING=1"


if __name__ == "__main__":
    main(settings_count_at_once_and_after_a_restart, keys_that_only_count_in_the_nodes_file_are_refused,
         who_is_above_a_quota_is_answered_and_then_muted, who_changes_too_many_partitions_is_muted,
         the_cleaner_follows_its_settings, the_file_is_read_again)
