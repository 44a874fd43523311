"""A broker process of our own and a raw Kafka connection, for tests that stock clients are too polite for. Needs only Python.

Requests use the last version of each API whose frames have no tagged fields, so that a body can be written by hand.
"""
import base64
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import ports

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 0, 1, 2, 3, 18
CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, INIT_PRODUCER_ID = 19, 20, 21, 22

_CRC = []
for _i in range(256):
    for _ in range(8):
        _i = (_i >> 1) ^ 0x82F63B78 if _i & 1 else _i >> 1
    _CRC.append(_i)


def crc32c(data, value=0):
    value ^= 0xFFFFFFFF
    table = _CRC
    for byte in data:
        value = table[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data, at):
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at


def batch(values, pid=-1, epoch=-1, sequence=-1, timestamp_ms=None, attributes=0):
    """One uncompressed batch; a value is bytes, or (key, value)."""
    timestamp_ms = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    body = []
    for delta, value in enumerate(values):
        key, value = value if isinstance(value, tuple) else (None, value)
        record = b"\0" + varint(0) + varint(delta)
        record += varint(-1) if key is None else varint(len(key)) + key
        record += varint(len(value)) + value + varint(0)
        body.append(varint(len(record)) + record)
    tail = struct.pack(">hiqqqhii", attributes, len(values) - 1, timestamp_ms, timestamp_ms, pid, epoch, sequence,
                       len(values)) + b"".join(body)
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def records(data):
    """(offset, key, value) of each record of whole batches that are not compressed; control batches are left out."""
    at = 0
    while at + 61 <= len(data):
        base, length = struct.unpack_from(">qi", data, at)
        if at + 12 + length > len(data):
            return
        attributes, count = struct.unpack_from(">h", data, at + 21)[0], struct.unpack_from(">i", data, at + 57)[0]
        spot = at + 61
        at += 12 + length
        if attributes & 32:
            continue
        for _ in range(count):
            size, spot = read_varint(data, spot)
            end = spot + size
            _, spot = read_varint(data, spot + 1)
            delta, spot = read_varint(data, spot)
            fields = []
            for _ in range(2):
                size, spot = read_varint(data, spot)
                fields.append(None if size < 0 else bytes(data[spot:spot + size]))
                spot += max(size, 0)
            spot = end
            yield base + delta, fields[0], fields[1]


def text(value):
    if value is None:
        return struct.pack(">h", -1)
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">h", len(value)) + value


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def produce_body(topic, parts, acks=-1, timeout_ms=10000):
    """Version 3 to 8; parts: {partition: records}."""
    return (text(None) + struct.pack(">hi", acks, timeout_ms) + array([text(topic) + array(
        [struct.pack(">ii", part, len(data)) + data for part, data in parts.items()])]))


def fetch_body(topic, parts, wait_ms=0, bytes_min=1, bytes_max=64 << 20, part_bytes_max=8 << 20):
    """Version 4; parts: {partition: offset}."""
    return (struct.pack(">iiiib", -1, wait_ms, bytes_min, bytes_max, 0) + array([text(topic) + array(
        [struct.pack(">iqi", part, offset, part_bytes_max) for part, offset in parts.items()])]))


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values[0] if len(values) == 1 else values

    def text(self):
        size = self.take(">h")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def blob(self):
        size = self.take(">i")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size:self.at]

    def array(self, element):
        return [element() for _ in range(self.take(">i"))]


def unsigned(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def compact(value):
    return b"\0" if value is None else unsigned(len(value) + 1) + (value.encode() if isinstance(value, str) else value)


def compact_array(items):
    return unsigned(len(items) + 1) + b"".join(items)


class Flexible(Cursor):
    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.take(">B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        size = self.unsigned() - 1
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def array(self, element):
        return [element() for _ in range(self.unsigned() - 1)]

    def tags(self):
        assert self.unsigned() == 0

    def tagged(self):
        """{tag: a Flexible over its bytes}"""
        out = {}
        for _ in range(self.unsigned()):
            tag, size = self.unsigned(), self.unsigned()
            out[tag] = Flexible(self.data[self.at:self.at + size])
            self.at += size
        return out


def call(connection, key, version, body):
    """A request whose header and body have tagged fields."""
    answer = Flexible(connection.call(key, version, b"\0" + body).data)
    answer.tags()
    return answer


def produce_with_hints(connection, topic, partition, value):
    """Version 10 of Produce, for one record: (error, (leader, its epoch) or None, {node: (host, port)}), as KIP-951 has it."""
    data = batch([value])
    body = compact(None) + struct.pack(">hi", -1, 10000) + compact_array([compact(topic) + compact_array(
        [struct.pack(">i", partition) + unsigned(len(data) + 1) + data + b"\0"]) + b"\0"]) + b"\0"
    answer = call(connection, PRODUCE, 10, body)

    def part():
        _, error, _, _, _ = answer.take(">ihqqq")
        answer.array(lambda: (answer.take(">i"), answer.text(), answer.tags()))
        answer.text()
        found = answer.tagged()
        return error, found[0].take(">ii") if 0 in found else None
    (((error, leader),),) = answer.array(lambda: (answer.text(), answer.array(part), answer.tags())[1])
    answer.take(">i")
    nodes = answer.tagged().get(0)

    def node():
        row = nodes.take(">i"), (nodes.text(), nodes.take(">i"))
        nodes.text()
        nodes.tags()
        return row
    return error, leader, dict(nodes.array(node)) if nodes else {}


class Connection:
    def __init__(self, address, timeout=30):
        self.socket = socket.create_connection(address, timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def frame(key, version, body, correlation, client="breaker"):
        header = struct.pack(">hhi", key, version, correlation) + text(client)
        return struct.pack(">i", len(header) + len(body)) + header + body

    def send(self, key, version, body):
        self.correlation += 1
        self.socket.sendall(self.frame(key, version, body, self.correlation))
        return self.correlation

    def exactly(self, count):
        out = bytearray()
        while len(out) < count:
            piece = self.socket.recv(min(count - len(out), 1 << 20))
            if not piece:
                raise ConnectionError("closed by the broker")
            out += piece
        return bytes(out)

    def receive(self, correlation=None):
        size = struct.unpack(">i", self.exactly(4))[0]
        data = self.exactly(size)
        found = struct.unpack_from(">i", data)[0]
        if correlation is not None and found != correlation:
            raise AssertionError(f"answer {found}, expected {correlation}")
        return Cursor(data[4:])

    def call(self, key, version, body):
        return self.receive(self.send(key, version, body))

    # Answers as plain Python values.
    def api_versions(self):
        answer = self.call(API_VERSIONS, 0, b"")
        error = answer.take(">h")
        assert error == 0, error
        return {key: (low, high) for key, low, high in answer.array(lambda: answer.take(">hhh"))}

    def metadata(self, topics=None):
        """{topic: (error, {partition: (error, leader)})}; version 4, does not create."""
        answer = self.call(METADATA, 4, (struct.pack(">i", -1) if topics is None else array([text(t) for t in topics])) + b"\0")
        answer.take(">i")
        self.brokers = answer.array(lambda: (answer.take(">i"), answer.text(), answer.take(">i"), answer.text()))
        answer.text()
        answer.take(">i")

        def partition():
            error, index, leader = answer.take(">hii")
            answer.array(lambda: answer.take(">i"))
            answer.array(lambda: answer.take(">i"))
            return index, (error, leader)

        def topic():
            error, name, _ = answer.take(">h"), answer.text(), answer.take(">b")
            return name, (error, dict(answer.array(partition)))
        return dict(answer.array(topic))

    def in_sync(self, topic):
        """{partition: how many replicas are}; version 4."""
        answer = self.call(METADATA, 4, array([text(topic)]) + b"\0")
        answer.take(">i")
        answer.array(lambda: (answer.take(">i"), answer.text(), answer.take(">i"), answer.text()))
        answer.text()
        answer.take(">i")

        def partition():
            _, index, _ = answer.take(">hii")
            answer.array(lambda: answer.take(">i"))
            return index, len(answer.array(lambda: answer.take(">i")))
        rows = answer.array(lambda: (answer.take(">h"), answer.text(), answer.take(">b"), answer.array(partition)))
        return dict(rows[0][3])

    def create(self, topics, partitions=1, configs=(), timeout_ms=60000, replicas=1):
        """{topic: error}; version 3."""
        topics = [topics] if isinstance(topics, str) else topics
        body = array([text(t) + struct.pack(">ih", partitions, replicas) + array([]) +
                      array([text(k) + text(str(v)) for k, v in dict(configs).items()]) for t in topics])
        answer = self.call(CREATE_TOPICS, 3, body + struct.pack(">ib", timeout_ms, 0))
        answer.take(">i")
        return {name: error for name, error, _ in answer.array(lambda: (answer.text(), answer.take(">h"), answer.text()))}

    def delete(self, topics, timeout_ms=60000):
        topics = [topics] if isinstance(topics, str) else topics
        answer = self.call(DELETE_TOPICS, 3, array([text(t) for t in topics]) + struct.pack(">i", timeout_ms))
        answer.take(">i")
        return dict(answer.array(lambda: (answer.text(), answer.take(">h"))))

    def delete_records(self, topic, parts, timeout_ms=60000):
        """{partition: (low watermark, error)}; version 1."""
        body = array([text(topic) + array([struct.pack(">iq", p, o) for p, o in parts.items()])])
        answer = self.call(DELETE_RECORDS, 1, body + struct.pack(">i", timeout_ms))
        answer.take(">i")
        return {p: (low, error) for _, rows in answer.array(
            lambda: (answer.text(), answer.array(lambda: answer.take(">iqh")))) for p, low, error in rows}

    def init_producer(self):
        answer = self.call(INIT_PRODUCER_ID, 1, text(None) + struct.pack(">i", 60000))
        _, error, pid, epoch = answer.take(">ihqh")
        assert error == 0, error
        return pid, epoch

    @staticmethod
    def produced(answer, version=7):
        """{partition: (error, base offset)}, version 3 to 7."""
        rows = answer.array(lambda: (answer.text(), answer.array(
            lambda: answer.take(">ihqqq") if version >= 5 else answer.take(">ihqq"))))
        return {row[0]: (row[1], row[2]) for _, parts in rows for row in parts}

    def produce(self, topic, parts, acks=-1, version=7, timeout_ms=10000):
        return self.produced(self.call(PRODUCE, version, produce_body(topic, parts, acks, timeout_ms)), version)

    @staticmethod
    def fetched(answer):
        """{partition: (error, high watermark, records)}; version 4."""
        answer.take(">i")

        def partition():
            index, error, mark, _ = answer.take(">ihqq")
            answer.array(lambda: answer.take(">qq"))
            return index, (error, mark, answer.blob())
        return {row[0]: row[1] for _, parts in answer.array(lambda: (answer.text(), answer.array(partition))) for row in parts}

    def fetch(self, topic, parts, **options):
        return self.fetched(self.call(FETCH, 4, fetch_body(topic, parts, **options)))

    def offsets(self, topic, partitions, timestamp=-1):
        """{partition: (error, offset)}; version 1."""
        body = struct.pack(">i", -1) + array([text(topic) + array([struct.pack(">iq", p, timestamp) for p in partitions])])
        answer = self.call(LIST_OFFSETS, 1, body)
        rows = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ihqq"))))
        return {row[0]: (row[1], row[3]) for _, parts in rows for row in parts}

    def read_all(self, topic, partition=0, offset=0):
        """Every record from an offset up to the mark: [(offset, key, value)]."""
        out = []
        while True:
            error, mark, data = self.fetch(topic, {partition: offset})[partition]
            assert error == 0, f"fetch {topic}-{partition} at {offset}: error {error}"
            rows = [row for row in records(data or b"") if row[0] >= offset]
            out += rows
            if rows:
                offset = rows[-1][0] + 1
            if offset >= mark:
                return out
            assert rows, f"no progress at {offset} of {mark}"


def new_cluster_id():
    """A node that another test left behind does not get in."""
    return base64.urlsafe_b64encode(b"\0" + os.urandom(15)).decode().rstrip("=")  # Kafka's begin with no dash


class Broker:
    """A `millrace serve` process on ports of its own; removes its data at the end unless `keep`."""

    def __init__(self, directory=None, prefix=(), **settings):
        self.millrace = os.environ.get("MILLRACE", str(ROOT / "build/release/millrace"))
        self.own = directory is None
        self.directory = Path(directory or tempfile.mkdtemp(prefix="millrace-e2e-"))
        self.data = self.directory / "data"
        self.port = ports.reserve(3)
        self.address = ("127.0.0.1", self.port)
        self.prefix = list(prefix)
        self.settings = {
            "node.id": 1, "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.port + 1}",
            "controller.listener.names": "CONTROLLER", "controller.quorum.voters": f"1@127.0.0.1:{self.port + 1}", "log.dirs": self.data,
            "millrace.admin.listener": f"127.0.0.1:{self.port + 2}", "millrace.space.low.bytes": 1 << 20}
        self.settings.update({key.replace("_", "."): value for key, value in settings.items()})
        self.process = None

    def command(self):
        return self.prefix + [self.millrace, "serve"] + [x for k, v in self.settings.items() for x in ("-o", f"{k}={v}")]

    def start(self, wait=True):
        self.log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log)
        if wait:
            try:
                self.wait_ready()
            except BaseException:
                self.__exit__()
                raise
        return self

    def wait_ready(self, timeout=60):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the broker ended with {self.process.returncode}:\n{self.tail()}")
            try:
                with self.connect(5) as probe:
                    probe.metadata([])
                    if probe.brokers:
                        return
            except OSError:
                pass
            time.sleep(0.005)
        raise AssertionError(f"not ready within {timeout} s:\n{self.tail()}")

    def tail(self):
        return (self.directory / "log").read_text(errors="replace")[-4000:]

    def connect(self, timeout=30):
        return Connection(self.address, timeout)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=30):
        """Seconds that SIGTERM took, and the exit code."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        return time.monotonic() - began, code

    def status(self, name):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        raise KeyError(name)

    def memory_kb(self):
        return self.status("VmRSS")

    def memory_peak_kb(self):
        return self.status("VmHWM")

    def descriptors(self, prefix=""):
        """How many are open on what begins with `prefix`: "socket:", a path, or anything."""
        count, folder = 0, f"/proc/{self.process.pid}/fd"
        for name in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{name}").startswith(prefix)
            except OSError:
                pass  # closed meanwhile
        return count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.alive():
            self.kill()
        if self.own:
            shutil.rmtree(self.directory, ignore_errors=True)


def main(*tests):
    """Runs the tests whose names were given (all, without); ends with `N passed, N failed`."""
    import sys
    import traceback
    wanted, failed, passed = sys.argv[1:], 0, 0
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        began = time.monotonic()
        try:
            test()
            passed += 1
            print(f"ok   {test.__name__} {time.monotonic() - began:.1f} s", flush=True)
        except Exception:  # a test's failure of any kind is reported and the next one runs
            failed += 1
            print(f"FAIL {test.__name__} {time.monotonic() - began:.1f} s\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
