"""confluent-kafka for Python as a client of e2e.py: an idempotent producer, assigned partitions.

    confluent.py create BOOTSTRAP TOPIC PARTITIONS
    confluent.py write  BOOTSTRAP TOPIC PARTITIONS CODEC DATASET
    confluent.py read   BOOTSTRAP TOPIC PARTITIONS COUNT OUT
"""
import os
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def create(bootstrap, topic, partitions):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(30)


def write(bootstrap, topic, partitions, codec, path):
    producer = Producer({"bootstrap.servers": bootstrap, "compression.codec": codec, "enable.idempotence": True,
                         "linger.ms": 5})
    problems = []
    with open(path, "rb") as lines:
        for index, line in enumerate(lines):
            key, headers, value = line.rstrip(b"\n").split(b"\t")
            pairs = [one.split("=") for one in headers.decode().split(",")]
            while True:
                try:
                    producer.produce(topic, value, key or None, index % partitions,
                                     headers=[(name, None if text == "NULL" else text) for name, text in pairs],
                                     on_delivery=lambda error, _: problems.append(error) if error else None)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
    left = producer.flush(120)
    if problems or left:
        sys.exit(f"{len(problems)} failed ({problems[:1]}), {left} not delivered")


def read(bootstrap, topic, partitions, count, path):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    got, ended, until = 0, 0, time.time() + 300
    with open(path, "wb") as out:
        while ended < partitions and time.time() < until:
            for message in consumer.consume(1000, 0.5):
                if message.error():
                    ended += message.error().code() == KafkaError._PARTITION_EOF
                    continue
                key, value = message.key(), message.value()
                headers = b",".join(name.encode() + b"=" + (b"NULL" if text is None else text)
                                    for name, text in message.headers() or [])
                out.write(b"%d|%d|%d|%s|%s|%d|%s\n" % (message.partition(), message.offset(),
                                                       -1 if key is None else len(key), key or b"", headers,
                                                       len(value), value))
                got += 1
    if got != count:
        print(f"{got} of {count} records read", file=sys.stderr, flush=True)
    os._exit(got != count)  # closing would wait for a group coordinator


verb, bootstrap, topic, partitions, *rest = sys.argv[1:]
if verb == "create":
    create(bootstrap, topic, int(partitions))
elif verb == "write":
    write(bootstrap, topic, int(partitions), *rest)
else:
    read(bootstrap, topic, int(partitions), int(rest[0]), rest[1])
