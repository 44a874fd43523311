#!/usr/bin/env python3
"""Prints the seconds until a broker's Metadata answer lists enough brokers and, with --topic, a leader of each partition.

    wait_ready.py HOST:PORT [--brokers N] [--topic NAME] [--since EPOCH_SECONDS] [--timeout SECONDS] [--pid PID]
"""
import argparse
import os
import socket
import struct
import sys
import time


def receive(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


class Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def take(self, form):
        value, = struct.unpack_from(">" + form, self.data, self.position)
        self.position += struct.calcsize(form)
        return value

    def text(self):
        length = max(0, self.take("h"))
        self.position += length
        return self.data[self.position - length:self.position].decode()

    def array(self, element):
        return [element() for _ in range(max(0, self.take("i")))]


def metadata(connection, topic):
    """Metadata version 4 without auto-creation: (broker count, [(error, leader)] of the topic's partitions)."""
    names = [topic] if topic else []
    body = struct.pack(">hhih", 3, 4, 1, -1) + struct.pack(">i", len(names))
    body += b"".join(struct.pack(">h", len(name)) + name.encode() for name in names) + b"\0"
    connection.sendall(struct.pack(">i", len(body)) + body)
    reader = Reader(receive(connection, struct.unpack(">i", receive(connection, 4))[0]))
    reader.take("i"), reader.take("i")
    brokers = reader.array(lambda: (reader.take("i"), reader.text(), reader.take("i"), reader.text()))
    reader.text(), reader.take("i")
    partitions = []

    def partition():
        error, _, leader = reader.take("h"), reader.take("i"), reader.take("i")
        reader.array(lambda: reader.take("i")), reader.array(lambda: reader.take("i"))
        partitions.append((error, leader))

    def described():
        error = reader.take("h")
        reader.text(), reader.take("b")
        if error:
            partitions.append((error, -1))
        reader.array(partition)

    reader.array(described)
    return len(brokers), partitions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--topic")
    parser.add_argument("--since", type=float, default=time.time())
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--pid", type=int, help="give up when this process is gone")
    options = parser.parse_args()
    host, port = options.address.rsplit(":", 1)
    problem = None
    while time.time() - options.since < options.timeout:
        try:
            with socket.create_connection((host, int(port)), 2) as connection:
                while time.time() - options.since < options.timeout:
                    brokers, partitions = metadata(connection, options.topic)
                    led = not options.topic or (partitions and all(e == 0 and leader >= 0 for e, leader in partitions))
                    if brokers >= options.brokers and led:
                        print(f"{time.time() - options.since:.3f}")
                        return
                    problem = f"{brokers} brokers, partitions {partitions}"
                    time.sleep(0.005)
        except OSError as error:
            problem = error
        if options.pid and not os.path.exists(f"/proc/{options.pid}"):
            sys.exit(f"{options.address}: process {options.pid} is gone")
        time.sleep(0.005)
    sys.exit(f"{options.address} is not ready: {problem}")


if __name__ == "__main__":
    main()
