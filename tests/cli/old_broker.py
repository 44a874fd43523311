"""A proxy that makes a broker look as old as Kafka 2.3: its ApiVersions answers announce no more than that one's did.
What passes is otherwise untouched, so a client that chooses another version than the announced ones is caught."""
import socket
import struct
import threading

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35
HIGHEST = {0: 7, 1: 11, 2: 5, 3: 8, 8: 7, 9: 5, 10: 2, 11: 5, 12: 3, 13: 2, 14: 3, 15: 3, 16: 2, 18: 2, 19: 3, 20: 3, 21: 1,
           22: 1, 23: 3, 32: 2, 33: 1, 34: 1, 35: 1, 36: 1, 37: 1, 42: 1, 43: 0, 44: 0}


def exactly(connection, count):
    out = b""
    while len(out) < count:
        piece = connection.recv(count - len(out))
        if not piece:
            raise ConnectionError
        out += piece
    return out


def frame(connection):
    return exactly(connection, struct.unpack(">i", exactly(connection, 4))[0])


class OldBroker:
    def __init__(self, listener, upstream):
        self.listener, self.upstream, self.too_new = listener, upstream, []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        # One request at a time, which is all that the commands send.
        try:
            with client, socket.create_connection(self.upstream) as server:
                while True:
                    request = frame(client)
                    key, version, correlation = struct.unpack_from(">hhi", request)
                    if key == API_VERSIONS and version > HIGHEST[key]:
                        client.sendall(struct.pack(">iihi", 10, correlation, UNSUPPORTED_VERSION, 0))
                        continue
                    if version > HIGHEST.get(key, -1):
                        self.too_new.append((key, version))
                        return
                    server.sendall(struct.pack(">i", len(request)) + request)
                    response = frame(server)
                    if key == API_VERSIONS:
                        response = self.aged(response)
                    client.sendall(struct.pack(">i", len(response)) + response)
        except (ConnectionError, OSError):
            pass

    @staticmethod
    def aged(response):
        correlation, error, count = struct.unpack_from(">ihi", response)
        rows = [struct.unpack_from(">hhh", response, 10 + 6 * i) for i in range(count)]
        rows = [(key, low, min(high, HIGHEST[key])) for key, low, high in rows if HIGHEST.get(key, -1) >= low]
        return struct.pack(">ihi", correlation, error, len(rows)) + b"".join(struct.pack(">hhh", *row) for row in rows) + response[10 + 6 * count:]
