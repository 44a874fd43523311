"""The groups' part of e2e.py: members of stock clients read its data set while they come and go.

Proves that each record is read exactly once per group when members join, leave and are restarted without crashes; at least
once when members and the broker are killed; again from the start after a reset; and that a rolling restart of static
members disturbs nobody else. What a member has read is what it wrote to its standard output, which is read slowly, so that
the changes fall into the middle of the work.
"""
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTITIONS = 6
# How a member of a group is run, and the assignors that it has in common with others.
MEMBERS = {
    "kcat": ([str(HERE / "clients/kcat.sh")], ("range",)),  # cooperative, it forgets to commit what it gives up (with Kafka, too)
    "confluent": (["{build}/venv/bin/python", str(HERE / "clients/confluent.py")], ("range", "cooperative-sticky")),
    "franz-go": (["{build}/franz-go"], ("range", "cooperative-sticky")),
    "kafkajs": (["node", "{build}/kafkajs/main.js"], ("its own",)),
    "java": ([str(HERE / "clients/console.sh")], ("range", "cooperative-sticky")),
}


class Member:
    """A process that reads in a group; its lines are read at most `rate` a second until it is told to stop."""

    def __init__(self, group, client, instance, leaves_after):
        self.group, self.client, self.said, self.rate = group, client, [], group.rate
        self.count, self.leaves_after = 0, leaves_after
        command = [part.format(build=group.build) for part in MEMBERS[client][0]]
        command += ["group", group.bootstrap, group.topic, group.name, group.assignor, instance]
        if client == "kcat":
            command.append(str(leaves_after))
        self.errors = open(group.folder / f"{group.name}-{client}.err", "ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        begin = time.time()
        for count, line in enumerate(self.process.stdout, 1):
            if not line.endswith(b"\n"):
                break  # it was killed while it wrote this
            if self.client == "java":
                what = json.loads(line)
                if what["name"] != "record_data":
                    self.said.append(what["name"])
                    continue
                self.group.on_record(what["partition"], what["offset"], what["value"].encode())
            elif line.startswith(b"#"):
                self.said.append(line[1:].decode().strip())
            else:
                partition, offset, value = line.rstrip(b"\n").split(b"|", 2)
                self.group.on_record(int(partition), int(offset), value)
            self.count = count
            if self.rate:
                time.sleep(max(0.0, begin + count / self.rate - time.time()))

    def end(self, how=signal.SIGTERM):
        """kcat loses the record that it is about to write when a signal comes, so that in the midst of its work it leaves by itself."""
        if self.client != "kcat" or self.count < self.leaves_after or not self.leaves_after or how == signal.SIGKILL:
            self.process.send_signal(how)
        self.rate = 0
        self.process.wait(60)
        self.thread.join(60)
        self.errors.close()
        if how == signal.SIGTERM and self.process.returncode not in (0, 143, -signal.SIGTERM):
            raise RuntimeError(f"a member ended with {self.process.returncode}: {self.complaint()}")

    def complaint(self):
        return f"{self.client}: {Path(self.errors.name).read_text(errors='replace')[-300:]!r}"


class Group:
    def __init__(self, context, name, assignor="range"):
        self.name, self.assignor = name, assignor
        self.bootstrap, self.topic, self.build = context.target.bootstrap, context.topic, context.build
        self.folder, self.values = context.folder, context.values
        self.count_all = sum(len(one) for one in self.values)
        self.rate = max(self.count_all / 40, 200)
        self.lock, self.members = threading.Lock(), []
        self.start_over()

    def start_over(self):
        self.times = [[0] * len(one) for one in self.values]
        self.wrong, self.distinct, self.total = None, 0, 0

    def on_record(self, partition, offset, value):
        with self.lock:
            self.total += 1
            wanted = self.values[partition][offset]
            if wanted != value:
                at = len(os.path.commonprefix([wanted, value]))
                self.wrong = self.wrong or (f"partition {partition} offset {offset} byte {at}: {wanted[at:at + 40]!r} of {len(wanted)} "
                                            f"became {value[at:at + 40]!r} of {len(value)}")
                return
            self.times[partition][offset] += 1
            self.distinct += self.times[partition][offset] == 1

    def start(self, client, instance="-", leaves_after=0):
        """`leaves_after`: the share of all records after which it will be stopped; 0: when all are read."""
        self.members.append(Member(self, client, instance, round(leaves_after * self.count_all)))
        return self.members[-1]

    def wait_left(self, member):
        self.wait(lambda: member.count >= member.leaves_after or self.distinct == self.count_all, lambda one: one is not member)
        self.stop(member)

    def stop(self, member, how=signal.SIGTERM):
        self.members.remove(member)
        member.end(how)

    def stop_all(self):
        while self.members:
            self.stop(self.members[0])

    def kill_all(self):
        for member in self.members:
            member.process.kill()
        self.members = []

    def wait(self, is_done, may_not_end=lambda _: True, limit_s=120):
        until = time.time() + limit_s
        while not is_done():
            if self.wrong:
                raise RuntimeError("not what was written: " + self.wrong)
            for member in filter(may_not_end, self.members):
                if member.process.poll() is not None:
                    raise RuntimeError(f"a member ended by itself with {member.process.returncode}: {member.complaint()}")
            if time.time() > until:
                raise RuntimeError(f"{self.distinct} of {self.count_all} records read after {limit_s} s; {self.missing()}; "
                                   + " ".join(one.complaint() for one in self.members))
            time.sleep(0.02)

    def wait_share(self, share):
        self.wait(lambda: self.distinct >= share * self.count_all, lambda one: not one.leaves_after)

    def missing(self):
        """The first record that was not read."""
        for partition, times in enumerate(self.times):
            if 0 in times:
                return f"{times.count(0)} of partition {partition} are missing, the first at {times.index(0)} of {len(times)}"
        return "none is missing"

    def verdict(self, is_exact):
        if self.wrong:
            return "not what was written: " + self.wrong
        if self.distinct < self.count_all:
            return f"{self.count_all - self.distinct} records were not read; {self.missing()}"
        if is_exact and self.total > self.count_all:
            return f"{self.total - self.count_all} records were read more than once"
        return None


class Context:
    """What all groups share: the node, and a topic with the data set."""

    topic = "e2e-groups"

    def __init__(self, target, build, folder, dataset):
        self.target, self.build, self.folder, self.dataset = target, build, folder, dataset
        self.millrace = os.environ.get("MILLRACE", HERE.parent.parent / "build/release/millrace")
        self.values = [[] for _ in range(PARTITIONS)]
        with open(dataset, "rb") as lines:
            for index, line in enumerate(lines):
                self.values[index % PARTITIONS].append(line.rstrip(b"\n").split(b"\t")[2])

    def write(self):
        self.command("topic", "create", self.topic, "--partitions", PARTITIONS)
        subprocess.run([HERE / "clients/kcat.sh", "write", self.target.bootstrap, self.topic, str(PARTITIONS), "gzip", self.dataset],
                       check=True)

    def command(self, *words):
        run = subprocess.run([self.millrace, *map(str, words), "--bootstrap", self.target.bootstrap], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"millrace {' '.join(map(str, words))}: {run.stdout[-300:]}")


def members_come_and_go(context, clients, assignor):
    """Two join and two leave while others read; then all leave, and nothing is left to read."""
    group = Group(context, f"changes-{'-'.join(dict.fromkeys(clients))}-{assignor}".replace(" ", "-"), assignor)
    try:
        first = group.start(clients[0], leaves_after=0.2)
        group.wait_share(0.08)
        second = group.start(clients[1 % len(clients)], leaves_after=0.15)
        group.wait_share(0.25)
        group.start(clients[2 % len(clients)])
        group.wait_left(first)
        group.start(clients[3 % len(clients)])
        group.wait_left(second)
        group.wait_share(1)
        time.sleep(1)
        group.stop_all()
        return group.verdict(is_exact=True)
    finally:
        group.kill_all()


def again_after_a_reset(context, clients):
    """A group that has read all is set back to the start, then to the middle, by the command line of the tree."""
    group = Group(context, "reset-" + clients[0])
    group.rate = 0

    def reset(to):
        context.command("group", "reset", group.name, "--topic", context.topic, "--to", to, "--execute")

    try:
        for client in (clients * 2)[:3]:
            group.start_over()
            group.start(client)
            group.wait_share(1)
            group.stop_all()
            problem = group.verdict(is_exact=True)
            if problem:
                return f"{client}: {problem}"
            reset("earliest")
        group.start_over()
        reset("latest")
        group.start(clients[0])
        time.sleep(3)
        group.stop_all()
        return f"{group.total} records read after a reset to the end" if group.total else None
    finally:
        group.kill_all()


def members_and_the_broker_are_killed(context, clients):
    group = Group(context, "crashes-" + "-".join(clients))
    killable = [one for one in clients if one in ("confluent", "franz-go", "java")]  # commit only what they have written
    try:
        for client in clients:
            group.start(client)
        victim = group.start(killable[0])
        group.wait_share(0.2)
        group.stop(victim, signal.SIGKILL)
        group.wait_share(0.4)
        context.target.call("kill", "1")
        time.sleep(1)
        context.target.call("start-node", "1")
        victim = group.start(killable[-1])
        group.wait_share(0.7)
        group.stop(victim, signal.SIGKILL)
        context.target.call("kill", "1")
        context.target.call("start-node", "1")
        group.wait_share(1)
        time.sleep(1)
        group.stop_all()
        print(f"  {group.total - group.count_all} of {group.total} were read again")
        return group.verdict(is_exact=False)
    finally:
        group.kill_all()


def static_members_are_restarted(context, client, assignor):
    """Each of four is stopped and started again: nobody else hears of it, and each record is read once."""
    group = Group(context, f"rolling-{client}-{assignor}", assignor)
    try:
        members = [group.start(client, f"instance-{i}") for i in range(4)]
        group.wait_share(0.2)
        until = time.time() + 30
        while not all(one.said for one in members) and time.time() < until:
            time.sleep(0.1)
        time.sleep(2)
        before = [len(one.said) for one in members]
        for i in range(4):
            group.stop(members[i])
            replaced = members[i] = group.start(client, f"instance-{i}")
            before[i] = None
            until = time.time() + 20
            while not replaced.said and time.time() < until:
                time.sleep(0.05)
            for other in range(4):
                if before[other] is not None and len(members[other].said) != before[other]:
                    return f"restart of {i} was felt by {other}: {members[other].said}"
            before[i] = len(replaced.said)
        group.wait_share(1)
        time.sleep(1)
        group.stop_all()
        return group.verdict(is_exact=True)
    finally:
        group.kill_all()


def run(check, context, clients):
    """`clients` are those of e2e.py; `check(name, function)` reports."""
    clients = [one for one in MEMBERS if one in clients]
    if not check("groups: the data set is written", context.write):
        return
    for client in clients:
        for assignor in MEMBERS[client][1]:
            check(f"groups: members of {client} come and go, {assignor}",
                  lambda: members_come_and_go(context, [client], assignor))
    for assignor in ("range", "cooperative-sticky"):
        together = [one for one in clients if assignor in MEMBERS[one][1]]
        if len(together) > 1:
            check(f"groups: members of {', '.join(together)} together come and go, {assignor}",
                  lambda: members_come_and_go(context, together, assignor))
    together = [one for one in clients if "range" in MEMBERS[one][1]]
    if not together:
        return
    check("groups: again from the start after a reset", lambda: again_after_a_reset(context, together))
    if "confluent" in clients:
        for assignor in ("range", "cooperative-sticky"):
            check(f"groups: static members of confluent are restarted, {assignor}",
                  lambda: static_members_are_restarted(context, "confluent", assignor))
    if any(one in together for one in ("confluent", "franz-go", "java")):
        check("groups: members and the broker are killed", lambda: members_and_the_broker_are_killed(context, together))
