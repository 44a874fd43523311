#!/usr/bin/env python3
"""The Grafana dashboard (config/grafana/millrace.json) and the alerts (config/prometheus). The dashboard is tried with a real
Prometheus that scrapes a node under load: each query of each panel must return data, and every metric of the registry must be
scraped or excused here. promtool must like the page of metrics, and proves when alerts fire. Needs Prometheus: Debian's
package, what scripts/setup fetched, or PROMETHEUS naming the directory of its two programs."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import ports
from lag_test import admin, commit, find_coordinator
from wire import Broker, ROOT, batch, main

DASHBOARD = ROOT / "config/grafana/millrace.json"
WINDOW = "10s"
# Shown only when something is wrong, and by who has followers.
EXCUSED = {"millrace_group_stuck", "millrace_replica_lag_records"}


def program(name):
    fetched = Path.home() / ".cache/millrace/prometheus"
    found = shutil.which(name, path=os.environ.get("PROMETHEUS")) or shutil.which(name, path=str(fetched))
    if found is None:
        print(f"skipped: no {name} here (scripts/setup fetches it)")
        sys.exit(77)
    return found


class Prometheus:
    def __init__(self, target):
        self.port = ports.reserve(1)
        self.directory = Path(tempfile.mkdtemp(prefix="millrace-prometheus-"))
        config = self.directory / "prometheus.yml"
        config.write_text(f"""global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: millrace
    static_configs: [{{targets: ['{target}']}}]
""")
        self.process = subprocess.Popen(
            [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.directory}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            stdout=subprocess.DEVNULL, stderr=open(self.directory / "log", "wb"))

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        return self.get("/api/v1/query", query=expression)["result"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def load(broker, stop):
    """Produces, reads, commits, and asks for what is not there."""
    with broker.connect() as connection:
        connection.create(["orders", "payments"], partitions=3)
        find_coordinator(connection, "billing")
        offset = 0
        while not stop.is_set():
            for topic in ("orders", "payments"):
                connection.produce(topic, {p: batch([(b"key", b"x" * 100)] * 20) for p in range(3)})
                connection.fetch(topic, {p: offset for p in range(3)}, wait_ms=10)
                commit(connection, "billing", topic, {p: offset for p in range(3)})
            connection.produce("nowhere", {0: batch([b"x"])})
            connection.metadata(["orders"])
            offset += 15
            time.sleep(0.05)


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if what():
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise AssertionError("not in time")


def queries():
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", WINDOW).replace("$instance", ".*")
            assert "$" not in expression, expression
            yield panel["title"], expression


def every_panel_returns_data():
    with Broker().start() as broker, Prometheus(broker.settings["millrace.admin.listener"]) as prometheus:
        stop = threading.Event()
        worker = threading.Thread(target=load, args=(broker, stop))
        worker.start()
        try:
            wait_until(lambda: prometheus.query("rate(millrace_topic_out_bytes_total{topic=\"orders\"}[10s]) > 0"))
            time.sleep(6)
            assert worker.is_alive(), "the load has stopped"
            empty, count = [], 0
            for title, expression in queries():
                count += 1
                values = [float(row["value"][1]) for row in prometheus.query(expression)]
                if not values or any(value != value for value in values):
                    empty.append((title, expression, values))
            assert count > 40 and not empty, f"{len(empty)} of {count} without data: {empty}"
            print(f"{count} queries return data")
            # The registry and what is scraped are the same set.
            page = (ROOT / "docs/metrics.md").read_text()
            documented = set(re.findall(r"^\| `(millrace_[a-z_]+)` \|", page, re.M))
            names = {re.sub("_(bucket|sum|count)$", "", n) if n.startswith("millrace_request_seconds") else n
                     for n in prometheus.get("/api/v1/label/__name__/values") if n.startswith("millrace_")}
            assert documented - EXCUSED == names - EXCUSED, documented ^ names
            used = set(re.findall(r"millrace_[a-z_]+", DASHBOARD.read_text()))
            assert {re.sub("_bucket$", "", name) for name in used} <= documented, used - documented
        finally:
            stop.set()
            worker.join()


def promtool_likes_the_page():
    with Broker().start() as broker, broker.connect() as connection:
        connection.create("orders")
        find_coordinator(connection, "g")
        connection.produce("orders", {0: batch([b"x"])})
        commit(connection, "g", "orders", {0: 0})
        done = subprocess.run([program("promtool"), "check", "metrics"], input=admin(broker, "/metrics"), text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr


def alerts_fire():
    """Each of them does when it should and none for a node that is well, and they ask for metrics that there are."""
    alerts = ROOT / "config/prometheus/alerts.yml"
    for command in (("check", "config", ROOT / "config/prometheus/prometheus.yml"), ("test", "rules", ROOT / "tests/data/prometheus/alerts_test.yml")):
        done = subprocess.run([program("promtool"), *command], text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    expressions = re.findall(r"^ +expr: (.*)", alerts.read_text(), re.M)
    documented = set(re.findall(r"^\| `(millrace_[a-z_]+)` \|", (ROOT / "docs/metrics.md").read_text(), re.M))
    used = {name for expression in expressions for name in re.findall(r"millrace_[a-z_]+", expression)}
    assert len(expressions) > 10 and used <= documented, used - documented


if __name__ == "__main__":
    main(every_panel_returns_data, promtool_likes_the_page, alerts_fire)
