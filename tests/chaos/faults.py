"""The faults. Each is a function of (cluster, random) that does the harm, lets it work for a while, and returns what it was;
what it leaves broken Cluster.heal() repairs. KINDS: {name: (function, weight, what it counts as)}"""
import time

from cluster import CLIENTS


def victim(cluster, random):
    """A node, and what to say of it; the active controller more often than others."""
    controller = cluster.active_controller()
    node = controller if random.random() < 0.2 else random.choice(cluster.nodes)
    return node, " (active controller)" if node is controller else ""


def kill(cluster, random):
    node, why = victim(cluster, random)
    node.kill()
    down = random.choice([0, random.uniform(0, 1), random.uniform(1, 5)])
    time.sleep(down)
    return f"kill -9 of node {node.id}{why}, {down:.1f} s down"


def kill_again(cluster, random):
    """And again while it is starting."""
    node, why = victim(cluster, random)
    node.kill()
    times = random.randint(1, 3)
    for _ in range(times):
        node.start()
        time.sleep(random.uniform(0, 0.5))
        node.kill()
    return f"kill -9 of node {node.id}{why}, and {times} times more in its start"


def kill_all(cluster, random):
    for node in random.sample(cluster.nodes, len(cluster.nodes)):
        node.kill()
    down = random.uniform(0, 1)
    time.sleep(down)
    for node in random.sample(cluster.nodes, len(cluster.nodes)):
        node.start()
        time.sleep(random.choice([0, random.uniform(0, 1)]))
    return f"kill -9 of all nodes, {down:.1f} s down"


def kill_two(cluster, random):
    first, second = random.sample(cluster.nodes, 2)
    first.kill()
    time.sleep(random.uniform(0, 1))
    second.kill()
    time.sleep(random.uniform(0, 2))
    order = [first, second] if random.random() < 0.5 else [second, first]
    for node in order:
        node.start()
        time.sleep(random.uniform(0, 1))
    return f"kill -9 of nodes {first.id} and {second.id}, {order[0].id} comes back first"


def stop(cluster, random):
    node, why = victim(cluster, random)
    node.pause()
    paused = random.choice([random.uniform(0.1, 2), random.uniform(2, 6), random.uniform(6, 12)])
    time.sleep(paused)
    node.resume()
    return f"SIGSTOP of node {node.id}{why} for {paused:.1f} s"


def stop_and_kill(cluster, random):
    node, why = victim(cluster, random)
    node.pause()
    paused = random.uniform(0.1, 6)
    time.sleep(paused)
    node.kill()
    return f"SIGSTOP of node {node.id}{why} for {paused:.1f} s, then kill -9"


def stop_two(cluster, random):
    pair = random.sample(cluster.nodes, 2)
    for node in pair:
        node.pause()
        time.sleep(random.uniform(0, 1))
    paused = random.choice([random.uniform(0.1, 2), random.uniform(2, 10)])
    time.sleep(paused)
    for node in random.sample(pair, 2):
        node.resume()
        time.sleep(random.choice([0, random.uniform(0, 1)]))
    return f"SIGSTOP of nodes {pair[0].id} and {pair[1].id} for {paused:.1f} s"


def terminate(cluster, random):
    node, why = victim(cluster, random)
    began = time.monotonic()
    code = node.stop()
    took = time.monotonic() - began
    assert code == node.clean_exit, f"node {node.id} ended with {code} when it was told to stop"
    time.sleep(random.uniform(0, 2))
    return f"SIGTERM of node {node.id}{why}, which took {took:.2f} s"


def cut(cluster, links, random):
    for one, other in links:
        cluster.proxy.tell("set", one, other, "hold")
    lasts = random.choice([random.uniform(0.2, 2), random.uniform(2, 6), random.uniform(6, 12)])
    time.sleep(lasts)
    return f"{lasts:.1f} s"


def isolate(cluster, random):
    """A node from the others; clients still reach it."""
    node, why = victim(cluster, random)
    others = [i for i in cluster.voters if i != node.id]
    links = [(i, node.id) for i in others] + [(node.id, i) for i in others]
    return f"node {node.id}{why} cut off among the nodes for {cut(cluster, links, random)}"


def deaf(cluster, random):
    node, why = victim(cluster, random)
    return f"node {node.id}{why} hears no other node for {cut(cluster, [(i, node.id) for i in cluster.voters if i != node.id], random)}"


def mute(cluster, random):
    node, why = victim(cluster, random)
    return f"node {node.id}{why} is heard by no other node for {cut(cluster, [(node.id, i) for i in cluster.voters if i != node.id], random)}"


def cut_pair(cluster, random):
    one, other = random.sample(cluster.voters, 2)
    links = [(one, other)] if random.random() < 0.5 else [(one, other), (other, one)]
    return f"cut {' and '.join(f'{a} to {b}' for a, b in links)} for {cut(cluster, links, random)}"


def split(cluster, random):
    """Nobody hears anybody."""
    links = [(i, j) for i in cluster.voters for j in cluster.voters if i != j]
    return f"all nodes cut from each other for {cut(cluster, links, random)}"


def cut_and_kill(cluster, random):
    """Who was cut off is killed before it hears what happened, or the one that took over is."""
    node, why = victim(cluster, random)
    others = [i for i in cluster.voters if i != node.id]
    lasts = cut(cluster, [(i, node.id) for i in others] + [(node.id, i) for i in others], random)
    killed = random.choice(cluster.nodes)
    killed.kill()
    return f"node {node.id}{why} cut off among the nodes for {lasts}, then kill -9 of node {killed.id}"


def cut_clients(cluster, random):
    node, why = victim(cluster, random)
    links = random.choice([[(CLIENTS, node.id)], [(node.id, CLIENTS)], [(CLIENTS, node.id), (node.id, CLIENTS)]])
    ways = " and ".join(f"clients to {b}" if a == CLIENTS else f"{a} to clients" for a, b in links)
    return f"cut {ways}{why} for {cut(cluster, links, random)}"


def vanish(cluster, random):
    """A node for everybody, as if its cable was pulled."""
    node, why = victim(cluster, random)
    others = [CLIENTS] + [i for i in cluster.voters if i != node.id]
    links = [(i, node.id) for i in others] + [(node.id, i) for i in others]
    return f"node {node.id}{why} out of reach for {cut(cluster, links, random)}"


KINDS = {
    "kill": (kill, 30, "kill"), "kill again": (kill_again, 5, "kill"), "kill all": (kill_all, 6, "kill"),
    "kill two": (kill_two, 6, "kill"), "stop": (stop, 15, "stop"), "stop and kill": (stop_and_kill, 5, "stop"),
    "stop two": (stop_two, 5, "stop"),
    "terminate": (terminate, 5, "stop"), "isolate": (isolate, 5, "cut"), "deaf": (deaf, 4, "cut"), "mute": (mute, 4, "cut"),
    "cut pair": (cut_pair, 8, "cut"),
    "split": (split, 4, "cut"), "cut and kill": (cut_and_kill, 5, "cut"), "cut clients": (cut_clients, 6, "cut"), "vanish": (vanish, 8, "cut")}


def drawn(random, count):
    """So many kinds; each comes as often as its weight says, as far as there is room."""
    names = [name for name, (_, weight, _) in KINDS.items() for _ in range(weight)]
    out = []
    while len(out) < count:
        out += random.sample(names, len(names))
    return out[:count]


def disturb(cluster, members, random):
    """Beside the fault: late bytes, lost segments, resets, a member of a group that stands still. What it was, or nothing."""
    places = [CLIENTS] + cluster.voters
    kind = random.choice(["", "", "late", "lossy", "reset", "member"])
    if kind == "member":
        member = random.choice(members)
        member.pause()
        return f"{member.name} stands still"
    if kind == "reset":
        one, other = random.choice([(a, b) for a in places for b in places if a < b])
        cluster.proxy.tell("reset", one, other)
        return f"connections between {name(one)} and {name(other)} reset"
    if not kind:
        return ""
    delay, loss = (random.choice([2, 20, 100]), 0) if kind == "late" else (1, random.choice([5, 50]))
    for one in places:
        for other in places:
            if one != other:
                cluster.proxy.tell("set", one, other, "late", delay, delay, loss)
    return f"bytes {delay} to {2 * delay} ms late" if kind == "late" else f"{loss} of 1,000 segments lost"


def name(place):
    return "clients" if place == CLIENTS else f"node {place}"
