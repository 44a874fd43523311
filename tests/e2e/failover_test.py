#!/usr/bin/env python3
"""Proves that leaderships leave who cannot serve them, with three real processes: a replica whose log cannot be made or
opened, a log directory that fails for good while the other goes on (DF-07), an old copy of one that was put back, a
process that is killed, one that holds thousands of partitions, the node that is both the active controller and a leader,
one that is stopped, one that was stopped and goes on, and one that is unregistered. And that clients and commands are told of
it. Needs Python, the binary in $MILLRACE, and a C compiler for what is preloaded.

    failover_test.py [TEST...]
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import urllib.request

import wire
from cluster_test import FAST, Cluster, until
from faulty_test import WORK, preload

UNREGISTER_BROKER = 64


def create_on(node, topic, assignment, **configs):
    """{partition: replicas}, the first of which leads."""
    body = wire.array([wire.text(topic) + struct.pack(">ih", -1, -1) + wire.array(
        [struct.pack(">i", p) + wire.array([struct.pack(">i", r) for r in replicas]) for p, replicas in assignment.items()]) +
        wire.array([wire.text(key.replace("_", ".")) + wire.text(str(value)) for key, value in configs.items()])])
    with node.connect(60) as connection:
        answer = connection.call(wire.CREATE_TOPICS, 3, body + struct.pack(">ib", 60000, 0))
        answer.take(">i")
        assert [row[1] for row in answer.array(lambda: (answer.text(), answer.take(">h"), answer.text()))] == [0]


def metric(node, name):
    """The value of a metric with its labels, as /metrics has it; 0 when it is not there."""
    with urllib.request.urlopen(f"http://127.0.0.1:{node.admin_port}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
    return 0


def is_led_by(cluster, topic, wanted):
    """{partition: id of the leader, -1 for none}, as every live node tells."""
    def ask():
        for node in cluster.live():
            with node.connect() as connection:
                found = {p: leader for p, (_, leader) in connection.metadata([topic])[topic][1].items()}
                if found != wanted:
                    return None
        return True
    return ask


def a_replica_whose_log_cannot_be_opened_is_not_led():
    with Cluster(controllers=3) as cluster:
        first, second = cluster.nodes[:2]
        # Somebody's file has the name of the directory that the log is to have.
        (first.folder / "data" / "made-0").write_text("in the way")
        create_on(second, "made", {0: [1, 2, 3], 1: [1, 2, 3]}, min_insync_replicas=2)
        until(10, "who cannot make the log does not lead", is_led_by(cluster, "made", {0: 2, 1: 1}))
        assert cluster.produce("made", 0, b"elsewhere") == 0
        assert cluster.produce("made", 1, b"here") == 0
        # A log that has lost what was known to be on the disk: nobody may take it for a shorter one.
        create_on(second, "opened", {0: [1, 2, 3]}, min_insync_replicas=2)
        cluster.produce("opened", 0, b"before")
        cluster.in_sync("opened", 3)
        assert first.stop() == 0
        for path in (first.folder / "data" / "opened-0").glob("*.log"):
            os.truncate(path, 0)
        (first.folder / "data" / "made-0").unlink()
        first.start()
        cluster.settled()
        # What could be made now is a replica again; the other is none, and its first replica is not given it back.
        cluster.in_sync("made", 3)
        cluster.produce("opened", 0, b"after")
        with second.connect() as connection:
            assert connection.in_sync("opened") == {0: 2}
        # Everybody stops and starts: whoever is heard of first, it is not the one without the log.
        for node in cluster.nodes:
            node.kill()
        for node in cluster.nodes:
            node.start()
        cluster.settled()
        cluster.holds("opened", 0, [b"before", b"after"])


def of_two_directories_one_fails():
    switch = WORK / "cluster-switch"
    switch.unlink(missing_ok=True)
    cluster = Cluster(controllers=3)
    first, second = cluster.nodes[:2]
    good, bad = first.folder / "good", first.folder / "bad"
    first.own = {"log.dirs": f"{good},{bad}", "metadata.log.dir": good}
    first.prefix = preload(FAULTY_SWITCH=switch, FAULTY_UNDER=bad)
    with cluster:
        create_on(second, "t", {p: [1, 2, 3] for p in range(12)}, min_insync_replicas=2)
        cluster.in_sync("t", 3)
        for p in range(12):
            cluster.produce("t", p, b"before")
        lost = {int(path.name.rsplit("-", 1)[1]) for path in bad.glob("t-*")}
        assert 0 < len(lost) < 12, lost
        switch.touch()
        began = time.monotonic()
        for p in range(12):
            cluster.produce("t", p, b"after")
        took = time.monotonic() - began
        until(5, "the others lead what was in it", is_led_by(cluster, "t", {p: 2 if p in lost else 1 for p in range(12)}))
        assert first.process.poll() is None
        assert metric(second, "millrace_partition_takeovers_total") >= len(lost)
        assert 0 < metric(second, "millrace_partition_takeover_seconds_total") < 10
        for p in range(12):
            cluster.produce("t", p, b"later")
            cluster.holds("t", p, [b"before", b"after", b"later"])
        # Without it, until there is a new disk: its replicas begin anew in the other one.
        assert first.stop() == 0
        first.own, first.prefix = {"log.dirs": good}, []
        first.start()
        cluster.settled()
        cluster.in_sync("t", 3)
        assert {int(path.name.rsplit("-", 1)[1]) for path in good.glob("t-*")} == set(range(12))
        for p in range(12):
            cluster.holds("t", p, [b"before", b"after", b"later"])
        print(f"  {len(lost)} of 12 partitions were in the directory that failed; 12 records after it in {took:.2f} s")


def an_old_copy_of_a_replica_that_was_put_back_leads_nothing():
    """Beside the newer metadata log the copy has the mark of a clean stop, but not of the last one. Eligible, it would lead."""
    with Cluster(controllers=3, **FAST) as cluster:
        first, second, third = cluster.nodes
        create_on(first, "t", {0: [1, 2, 3]}, min_insync_replicas=2)
        cluster.in_sync("t", 3)
        cluster.produce("t", 0, b"copied")
        assert third.stop() == 0
        data, copy = third.folder / "data", third.folder / "copy"
        shutil.copytree(data, copy, ignore=shutil.ignore_patterns("__cluster_metadata-0"))
        third.start()
        cluster.settled()
        cluster.in_sync("t", 3)
        assert second.stop() == 0
        cluster.produce("t", 0, b"missing in the copy")
        assert third.stop() == 0  # below min.insync.replicas it stays eligible
        first.kill()
        for entry in data.iterdir():
            if entry.name == "__cluster_metadata-0":
                continue
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(copy, data, dirs_exist_ok=True)
        # Killed before it could tell anybody, it still has an old copy only.
        third.start()
        time.sleep(0.5)
        third.kill()
        second.start()
        third.start()
        cluster.settled()
        until(10, "nobody leads who lacks what was acknowledged", is_led_by(cluster, "t", {0: -1}))
        first.start()
        cluster.settled()
        cluster.holds("t", 0, [b"copied", b"missing in the copy"])
        cluster.in_sync("t", 3)
        # Caught up, it may lead.
        cluster.produce("t", 0, b"after")
        first.kill()
        second.kill()
        second.start()
        cluster.produce("t", 0, b"last")
        cluster.holds("t", 0, [b"copied", b"missing in the copy", b"after", b"last"])


def kills_are_noticed_before_the_session_is_over():
    """Default timeouts. What is measured here has room for a busy machine, but none for a session of nine seconds, nor for
    the time of an election that nobody hurries."""
    with Cluster(controllers=3) as cluster:
        gaps = []
        for what in ("a leader", "the active controller", "both"):
            controller = cluster.active_controller()
            others = [node for node in cluster.nodes if node is not controller]
            leader = controller if what == "both" else others[0]
            victim = others[0] if what == "a leader" else controller
            topic = what.replace(" ", "-")
            create_on(others[1], topic, {p: [leader.id] + [n.id for n in cluster.nodes if n is not leader] for p in range(3)},
                      min_insync_replicas=2)
            cluster.in_sync(topic, 3)
            cluster.produce(topic, 0, b"before")
            victim.kill()
            began = time.monotonic()
            cluster.produce(topic, 0, b"after")
            gaps.append((what, time.monotonic() - began))
            if leader is victim:
                assert victim.id not in {node.id for node in cluster.leaders(topic).values()}
            victim.start()
            cluster.settled()
            cluster.in_sync(topic, 3)
            time.sleep(10)  # one early fencing a session
        print("  " + ", ".join(f"{what}: {gap * 1000:.0f} ms" for what, gap in gaps))
        assert all(gap < 5 for _, gap in gaps), gaps


def who_falls_silent_loses_its_leaderships_after_its_session():
    """A stopped process keeps its connections and its listener: only time tells. Nothing else changes the metadata meanwhile."""
    with Cluster(controllers=3, **FAST) as cluster:
        waits = []
        for what in ("a leader", "both"):
            controller = cluster.active_controller()
            others = [node for node in cluster.nodes if node is not controller]
            victim = others[0] if what == "a leader" else controller
            topic = what.replace(" ", "-")
            create_on(others[1], topic, {0: [victim.id] + [n.id for n in cluster.nodes if n is not victim]}, min_insync_replicas=2)
            cluster.in_sync(topic, 3)
            cluster.produce(topic, 0, b"before")
            victim.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            asked = others[1]
            until(20, f"{what} that was stopped leads nothing",
                  lambda: asked.connect().metadata([topic])[topic][1][0][1] not in (victim.id, -1))
            waits.append(time.monotonic() - began)
            leader = cluster.node(asked.connect().metadata([topic])[topic][1][0][1])
            lag = f'millrace_replica_lag_records{{replica="{victim.id}"}}'
            until(10, "the next leader has taken up", lambda: leader.connect().produce(topic, {0: wire.batch([b"meanwhile"])})[0][0] == 0)
            assert metric(leader, lag) >= 1
            victim.process.send_signal(signal.SIGCONT)
            cluster.settled()
            cluster.in_sync(topic, 3)
            cluster.produce(topic, 0, b"after")
            cluster.holds(topic, 0, [b"before", b"meanwhile", b"after"])
            until(10, "who was stopped has caught up", lambda: metric(leader, lag) == 0)
        print("  sessions of 2 s, elections of the quorum not counted: " + ", ".join(f"{wait:.1f} s" for wait in waits))


def ask_end(connection, topic):
    """ListOffsets for the end of partition 0; version 5. The answer is for told_end()."""
    return connection.send(wire.LIST_OFFSETS, 5, struct.pack(">ib", -1, 0) + wire.array([wire.text(topic) + wire.array(
        [struct.pack(">iiq", 0, -1, -1)])]))


def told_end(connection, correlation):
    """(error, offset)"""
    answer = connection.receive(correlation)
    answer.take(">i")
    rows = answer.array(lambda: (answer.text(), answer.array(lambda: answer.take(">ihqqi"))))
    return rows[0][1][0][1], rows[0][1][0][3]


def who_was_stopped_tells_no_old_end():
    """Questions wait in its sockets when it goes on, with the news of who leads now behind them, and more follow at once."""
    offset_not_available, not_leader = 78, 6
    with Cluster(controllers=3, **FAST) as cluster:
        counts = {0: 0, offset_not_available: 0, not_leader: 0}
        for what in ("a leader", "both"):
            controller = cluster.active_controller()
            others = [node for node in cluster.nodes if node is not controller]
            victim = others[0] if what == "a leader" else controller
            topic = what.replace(" ", "-")
            create_on(others[1], topic, {0: [victim.id] + [n.id for n in cluster.nodes if n is not victim]}, min_insync_replicas=2)
            cluster.in_sync(topic, 3)
            cluster.produce(topic, 0, b"before")
            loyal = [victim.connect(30) for _ in range(24)]
            for connection in loyal:
                assert told_end(connection, ask_end(connection, topic)) == (0, 1)
            victim.process.send_signal(signal.SIGSTOP)
            asked = others[1]
            leader = cluster.node(until(20, f"{what} that was stopped leads nothing", lambda: next(
                (id for id in [asked.connect().metadata([topic])[topic][1][0][1]] if id not in (victim.id, -1)), None)))
            until(10, "the next leader has taken up", lambda: leader.connect().produce(topic, {0: wire.batch([b"after"])})[0][0] == 0)
            asked_of = [(connection, ask_end(connection, topic)) for connection in loyal]
            victim.process.send_signal(signal.SIGCONT)
            end = time.monotonic() + 3
            while time.monotonic() < end:
                for i, (connection, correlation) in enumerate(asked_of):
                    error, offset = told_end(connection, correlation)
                    assert error in counts and (error != 0 or offset >= 2), f"{what}: error {error}, end {offset}"
                    counts[error] += 1
                    asked_of[i] = (connection, ask_end(connection, topic))
                    if i % 8 == 0:
                        with victim.connect() as other:
                            error, mark, _ = other.fetched(other.call(wire.FETCH, 4, wire.fetch_body(topic, {0: 0})))[0]
                            assert error == not_leader or mark >= 2, f"{what}: Fetch with error {error}, mark {mark}"
            for connection in loyal:
                connection.close()
            assert "did not run for" in (victim.folder / "log").read_text(), "it has not noticed"
            cluster.settled()
            cluster.in_sync(topic, 3)
            cluster.holds(topic, 0, [b"before", b"after"])
        print("  answers by error: " + ", ".join(f"{error}: {count}" for error, count in counts.items()))


def acknowledge_each(node, topic, partitions, seconds):
    """Produces a record to each of them at that node until all that it leads have one. Others' are left out."""
    end = time.monotonic() + seconds
    left = set(partitions)
    with node.connect(60) as connection:
        while left:
            assert time.monotonic() < end, f"{len(left)} of {len(partitions)} without an acknowledgement"
            part = sorted(left)[:500]
            found = connection.produce(topic, {p: wire.batch([b"x"]) for p in part})
            left -= {p for p in part if found[p][0] == 0}
            leaders = {p: leader for p, (_, leader) in connection.metadata([topic])[topic][1].items()}
            left -= {p for p in left if leaders.get(p, -1) not in (node.id, -1) and node.cluster.node(leaders[p]).process}


def thousands_of_partitions_change_their_leader():
    count = 1000
    with Cluster(controllers=3) as cluster:
        controller = cluster.active_controller()
        victim, other = (node for node in cluster.nodes if node is not controller)
        create_on(controller, "many", {p: [victim.id, controller.id, other.id] for p in range(count // 2)} |
                  {p: [victim.id, other.id, controller.id] for p in range(count // 2, count)}, min_insync_replicas=2)
        acknowledge_each(victim, "many", range(count), 60)  # every log is there
        victim.kill()
        began = time.monotonic()
        for node in (controller, other):
            acknowledge_each(node, "many", range(count), 30)
        took = time.monotonic() - began
        print(f"  {count} partitions: {took:.2f} s from kill -9 to the last record")
        assert took < 7, "the session was waited for"


def command(node, *arguments, code=0):
    """What a command of millrace prints on its two streams, asked of this node; it must end with that code."""
    millrace = os.environ.get("MILLRACE", str(wire.ROOT / "build/release/millrace"))
    done = subprocess.run([millrace, *arguments, "--bootstrap", f"127.0.0.1:{node.port}"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def document(node, *arguments, code=0):
    return json.loads(command(node, *arguments, "--json", code=code)[0])


def commands_tell_who_is_missing_and_give_leaderships_back():
    with Cluster(controllers=3, **FAST) as cluster:
        controller = cluster.active_controller()
        asked, victim = (node for node in cluster.nodes if node is not controller)
        create_on(asked, "t", {0: [victim.id, asked.id, controller.id], 1: [asked.id, controller.id, victim.id],
                               2: [controller.id, victim.id, asked.id]}, min_insync_replicas=2)
        create_on(asked, "alone", {0: [victim.id]})
        for p in range(3):
            cluster.produce("t", p, b"before")
        cluster.in_sync("t", 3)

        def counts():
            status = document(asked, "cluster", "status")
            return tuple(status[key] for key in ("brokers", "brokers_fenced", "partitions", "partitions_under_replicated",
                                                 "partitions_offline"))
        status = document(asked, "cluster", "status")
        assert status["controller"] == controller.id and status["cluster_id"] == cluster.id and status["topics"] == 2, status
        assert counts() == (3, 0, 4, 0, 0), status
        assert command(asked, "cluster", "status")[1] == ""
        assert [(n["broker"], n["port"], n["fenced"]) for n in document(asked, "cluster", "nodes")] == [
            (n.id, n.port, False) for n in cluster.nodes]

        victim.kill()
        # Nobody answers there, which every command tells by how it ends.
        for words in (["status"], ["nodes"], ["quorum"], ["elect-leaders"]):
            assert "127.0.0.1" in command(victim, "cluster", *words, code=3)[1], words
        until(15, "the commands tell who is missing", lambda: counts() == (2, 1, 4, 4, 1))
        told, note = command(asked, "cluster", "status")
        lines = dict(line.split("  ", 1) for line in told.splitlines())
        assert lines["brokers"].strip() == "2, 1 more fenced" and lines["offline partitions"].strip() == "1", told
        assert "cluster nodes" in note, note
        assert {n["broker"]: n["fenced"] for n in document(asked, "cluster", "nodes")} == {
            n.id: n is victim for n in cluster.nodes}
        rows = [line.split() for line in command(asked, "cluster", "nodes")[0].splitlines()[1:]]
        assert {int(row[0]): row[-1] for row in rows} == {n.id: "fenced" if n is victim else "live" for n in cluster.nodes}, rows

        def voters():
            quorum = document(asked, "cluster", "quorum")
            assert quorum["leader"] == controller.id and {r["node"]: r["role"] for r in quorum["replicas"]} == {
                n.id: "leader" if n is controller else "voter" for n in cluster.nodes}, quorum
            return {r["node"]: r for r in quorum["replicas"]}

        def lags():
            found = voters()
            return (found[victim.id]["lag"] > 0 and found[asked.id]["lag"] == found[controller.id]["lag"] == 0 and
                    found[victim.id]["last_fetch_ms"] < found[asked.id]["last_fetch_ms"] and
                    found[victim.id]["last_caught_up_ms"] < found[asked.id]["last_caught_up_ms"])
        until(10, "who is absent lags behind the quorum", lags)
        rows = [line.split() for line in command(asked, "cluster", "quorum")[0].splitlines()[3:]]
        assert [row[0] for row in rows if int(row[3]) > 0] == [str(victim.id)], rows

        # A client that asks the wrong one is told who leads, in which epoch, and where.
        leader = cluster.leaders("t")[0]
        other = controller if leader is asked else asked
        with other.connect() as connection:
            error, (named, epoch), nodes = wire.produce_with_hints(connection, "t", 0, b"elsewhere")
        assert (error, named, nodes) == (6, leader.id, {leader.id: ("127.0.0.1", leader.port)}) and epoch > 0, (error, named, nodes)
        with leader.connect() as connection:
            assert wire.produce_with_hints(connection, "t", 0, b"after") == (0, None, {})

        # Who is not there is given nothing.
        (refused,) = document(asked, "cluster", "elect-leaders", "-t", "t:0", code=1)
        assert (refused["name"], refused["ok"], refused["error"]["name"]) == ("t-0", False, "PREFERRED_LEADER_NOT_AVAILABLE"), refused
        assert "t-0" in command(asked, "cluster", "elect-leaders", "-t", "t:0", code=1)[1]

        victim.start()
        cluster.settled()
        cluster.in_sync("t", 3)
        until(10, "nobody is missing", lambda: counts() == (3, 0, 4, 0, 0))
        assert cluster.leaders("t")[0] is not victim
        assert document(asked, "cluster", "elect-leaders", "-t", "t:0,1") == [
            {"name": "t-0", "ok": True, "outcome": "elected"}, {"name": "t-1", "ok": True, "outcome": "unchanged"}]
        until(10, "it leads again", is_led_by(cluster, "t", {0: victim.id, 1: asked.id, 2: controller.id}))
        cluster.holds("t", 0, [b"before", b"after"])
        # All that are not led by their first replica; by now there are none.
        assert document(asked, "cluster", "elect-leaders") == []
        until(10, "all voters have caught up", lambda: {r["lag"] for r in voters().values()} == {0})


def unregister(node, broker):
    """(error, message)"""
    with node.connect(60) as connection:
        answer = wire.call(connection, UNREGISTER_BROKER, 0, struct.pack(">i", broker) + b"\0")
        _, error = answer.take(">ih")
        return error, answer.text()


def who_is_unregistered_leads_nothing_until_it_registers_again():
    """Kafka answers the same, but leaves a broker that lives out until it is started again."""
    with Cluster(controllers=3, **FAST) as cluster:
        controller = cluster.active_controller()
        asked, victim = (node for node in cluster.nodes if node is not controller)
        create_on(asked, "t", {0: [victim.id, asked.id, controller.id], 1: [asked.id, victim.id, controller.id]},
                  min_insync_replicas=2)
        create_on(asked, "alone", {0: [victim.id]})
        cluster.in_sync("t", 3)
        for p in range(2):
            cluster.produce("t", p, b"before")
        cluster.produce("alone", 0, b"mine")
        assert unregister(asked, 99) == (102, "Broker ID 99 is not currently registered")

        # It lives, only that it cannot register again at once: what it leads is somebody else's, or nobody's.
        epochs = (victim.folder / "log").read_text().count("is registered with epoch")
        victim.process.send_signal(signal.SIGSTOP)
        assert unregister(asked, victim.id) == (0, "")
        with asked.connect() as connection:
            until(10, "another leads", lambda: connection.metadata(["t"])["t"][1][0][1] in (asked.id, controller.id))
            assert connection.metadata(["alone"])["alone"][1][0][1] == -1
            assert connection.in_sync("t") == {0: 2, 1: 2}
        victim.process.send_signal(signal.SIGCONT)
        # It comes back as a broker that nothing is known of.
        cluster.produce("t", 0, b"meanwhile")
        until(10, "it registers again", lambda: (victim.folder / "log").read_text().count("is registered with epoch") > epochs)
        cluster.settled()
        cluster.in_sync("t", 3)
        assert cluster.leaders("t")[0] is not victim
        assert cluster.leaders("alone")[0] is victim
        cluster.holds("t", 0, [b"before", b"meanwhile"])
        cluster.holds("alone", 0, [b"mine"])

        # It is gone: nobody knows of it any more, and its replicas stay its own until it is back.
        victim.kill()
        cluster.settled()
        assert unregister(asked, victim.id) == (0, "")
        assert unregister(asked, victim.id) == (102, f"Broker ID {victim.id} is not currently registered")
        others = [node.id for node in cluster.nodes if node is not victim]
        until(10, "it is on no list", lambda: [n["broker"] for n in document(asked, "cluster", "nodes")] == others)
        status = document(asked, "cluster", "status")
        assert (status["brokers_fenced"], status["partitions_under_replicated"], status["partitions_offline"]) == (0, 3, 1), status
        for p in range(2):
            cluster.produce("t", p, b"without it")
        victim.start()
        cluster.settled()
        cluster.in_sync("t", 3)
        assert cluster.leaders("alone")[0] is victim
        cluster.holds("t", 0, [b"before", b"meanwhile", b"without it"])
        cluster.holds("t", 1, [b"before", b"without it"])
        cluster.holds("alone", 0, [b"mine"])


if __name__ == "__main__":
    wire.main(a_replica_whose_log_cannot_be_opened_is_not_led, of_two_directories_one_fails,
              an_old_copy_of_a_replica_that_was_put_back_leads_nothing, kills_are_noticed_before_the_session_is_over,
              who_falls_silent_loses_its_leaderships_after_its_session, who_was_stopped_tells_no_old_end,
              thousands_of_partitions_change_their_leader, commands_tell_who_is_missing_and_give_leaderships_back,
              who_is_unregistered_leads_nothing_until_it_registers_again)
