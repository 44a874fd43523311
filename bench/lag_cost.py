#!/usr/bin/env python3
"""What lag costs: 10 groups with 1,000 partitions each, a third of them behind and moving, while somebody scrapes
/metrics. Prints the CPU time of one scrape and the share of a core at one scrape per 15 seconds."""
import re
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
from lag_test import admin, commit, find_coordinator  # noqa: E402
from wire import Broker, batch  # noqa: E402

GROUPS, TOPICS, PARTITIONS, SCRAPES, INTERVAL_S = 10, 10, 100, 8, 15


def cpu_seconds(broker):
    total = 0
    for task in Path(f"/proc/{broker.process.pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def main():
    with Broker(log_segment_bytes=1 << 20, millrace_preallocate_bytes=0).start() as broker, broker.connect() as connection:
        topics = [f"topic-with-a-usual-name-{i}" for i in range(TOPICS)]
        connection.create(topics, partitions=PARTITIONS)
        find_coordinator(connection, "g")
        groups = [f"group-with-a-usual-name-{i}" for i in range(GROUPS)]
        for topic in topics:
            connection.produce(topic, {p: batch([b"x" * 100] * 100) for p in range(PARTITIONS)})
        costs, sizes = [], []
        idle_from, idle_at = cpu_seconds(broker), time.monotonic()
        time.sleep(3)
        idle = (cpu_seconds(broker) - idle_from) / (time.monotonic() - idle_at)
        for i in range(SCRAPES):
            for g, group in enumerate(groups):
                for topic in topics:
                    # A third is behind and moves, a third is behind and stands, a third has caught up.
                    commit(connection, group, topic, {p: (i, 50, 100)[(g + p) % 3] for p in range(PARTITIONS)})
            time.sleep(0.3)
            before, at = cpu_seconds(broker), time.monotonic()
            text = admin(broker, "/metrics")
            costs.append(cpu_seconds(broker) - before - idle * (time.monotonic() - at))
            sizes.append(len(text))
        count = len(re.findall(r"^millrace_group_lag_seconds\{", text, re.M))
        cost = statistics.median(costs)
        print(f"{count} group-partitions, {sizes[-1] / 1e6:.1f} MB a scrape: {cost * 1000:.1f} ms CPU (median of {SCRAPES}, "
              f"max {max(costs) * 1000:.1f}); {100 * cost / INTERVAL_S:.2f} % of a core at one scrape per {INTERVAL_S} s; "
              f"{100 * 2 * cost / INTERVAL_S:.2f} % with the node's own look every 15 s, if that cost as much")
        print(re.search(r"^millrace_collect_seconds .*", text, re.M)[0])


main()
