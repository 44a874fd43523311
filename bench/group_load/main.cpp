// Classic groups as a load on a broker, Kafka or ours, and what they cost it. Prints one line of JSON.
//
//   group_load heartbeats host=127.0.0.1 port=P pid=PID groups=5000 members=4 conns=500 interval=3000 seconds=30
//       All groups are formed, then their members heartbeat. CPU-seconds of process PID over `seconds`, the heartbeats
//       answered in it, and how long one took.
//   group_load rebalance port=P members=100 rounds=50
//       Members that answer a rebalance at once. From the moment that the last Join is sent to the last Sync's answer.
//   group_load rolling port=P members=200 partitions=400 away=100 interval=500
//       Static cooperative members, one after another gone for `away` ms and back under their instance id. How often
//       each partition was without an owner during each restart, and how many generations that took.
//
// The broker should have group.initial.rebalance.delay.ms=0.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "member.h"

namespace load {
namespace {

using namespace millrace;

struct Options {
  std::string kind, host = "127.0.0.1", prefix;
  std::map<std::string, int> numbers{{"port", 9092},      {"pid", 0},         {"groups", 5000}, {"members", 4},
                                     {"conns", 500},      {"interval", 3000}, {"seconds", 30},  {"rounds", 50},
                                     {"partitions", 400}, {"away", 100}};
  int operator[](std::string const& name) const { return numbers.at(name); }
};

double cpu_seconds(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  auto const fields = text.find(") ");
  if (fields == std::string::npos) Connection::die(fmt::format("there is no process {}", pid));
  unsigned long long user = 0, system = 0;
  std::sscanf(text.c_str() + fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

template <class T>
T at_share(std::vector<T> values, double share) {
  if (values.empty()) Connection::die("nothing was measured");
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(static_cast<double>(values.size()) * share))];
}

struct Fleet {
  Loop loop;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<std::unique_ptr<GroupOptions>> groups;
  std::vector<std::unique_ptr<Member>> members;

  void connect(Options const& options, int count) {
    while (static_cast<int>(connections.size()) < count) {
      connections.push_back(std::make_unique<Connection>(loop, options.host, options["port"]));
    }
    // Makes the topic of the groups, too. The node is alone, so that it coordinates all of them.
    protocol::FindCoordinatorRequest request;
    request.key = "load";
    bool is_found = false;
    std::function<void()> const ask = [&] {
      connections[0]->call<protocol::FindCoordinatorResponse>(request, 2,
                                                              [&](protocol::FindCoordinatorResponse const& answer) {
                                                                is_found = answer.error_code == ErrorCode::none;
                                                                if (!is_found) loop.after(Millis(100), ask);
                                                              });
    };
    ask();
    must("finding the coordinator", Millis(30'000), [&] { return is_found; });
    loop.run([] { return false; }, Clock::now() + Millis(1000));  // all of them are loaded
  }
  Member& add(GroupOptions const& group, Connection& connection, Member::Events const& events,
              std::optional<std::string> instance = {}) {
    members.push_back(std::make_unique<Member>(loop, connection, group, events, std::move(instance)));
    return *members.back();
  }
  void must(std::string const& what, Millis limit, std::function<bool()> const& is_done) {
    if (!loop.run(is_done, Clock::now() + limit))
      Connection::die(fmt::format("{} took over {} s", what, limit.count() / 1000));
  }
};

bool is_settled(std::span<std::unique_ptr<Member>> members) {
  size_t leaders = 0;
  for (auto const& one : members) {
    if (!one->is_working() || one->generation() != members[0]->generation()) return false;
    if (one->leads()) leaders += one->group_size() == members.size() ? 1 : 0;
  }
  return leaders == 1;
}

void heartbeats(Options const& options) {
  Fleet fleet;
  fleet.connect(options, options["conns"]);
  auto const size = static_cast<size_t>(options["members"]);
  auto const interval = Millis(options["interval"]);
  std::vector<std::chrono::microseconds> times;
  bool is_measuring = false;
  size_t refused = 0;
  Member::Events const events{
      .working = [](Member&) {},
      .heard =
          [&](auto took) {
            if (is_measuring) times.push_back(took);
          },
      .owns = [](Member&, int32_t, bool) {},
      .refused = [&](Member&, ErrorCode) { ++refused; },
  };
  auto const begin = Clock::now();
  // A Join that waits holds back what follows on its connection: groups that form at one time share none.
  auto const at_once = std::max<size_t>(fleet.connections.size() / size, 1);
  auto const groups = static_cast<size_t>(options["groups"]);
  for (size_t from = 0; from < groups; from += at_once) {
    auto const first = fleet.members.size();
    for (size_t g = from; g < std::min(groups, from + at_once); ++g) {
      fleet.groups.push_back(std::make_unique<GroupOptions>(
          GroupOptions{.group_id = fmt::format("{}load-{}", options.prefix, g), .heartbeat_interval = Millis(10)}));
      for (size_t m = 0; m < size; ++m) {
        auto& connection = *fleet.connections[((g - from) * size + m) % fleet.connections.size()];
        auto& member = fleet.add(*fleet.groups.back(), connection, events);
        member.join();
        member.start_heartbeats(Millis(10));
      }
    }
    fleet.must("forming groups", Millis(60'000), [&] {
      for (size_t m = first; m < fleet.members.size(); m += size) {
        if (!is_settled(std::span(fleet.members).subspan(m, size))) return false;
      }
      return true;
    });
    for (size_t g = from; g < fleet.groups.size(); ++g) fleet.groups[g]->heartbeat_interval = interval;
  }
  auto const formed = std::chrono::duration<double>(Clock::now() - begin).count();
  // Heartbeats in step with how the groups were formed would come in bursts.
  for (size_t m = 0; m < fleet.members.size(); ++m) {
    fleet.members[m]->spread_heartbeats(interval * (m % 997) / 997);
  }
  auto const never = [] { return false; };
  fleet.loop.run(never, Clock::now() + 2 * interval);
  is_measuring = true;
  auto const cpu = cpu_seconds(options["pid"]);
  auto const own_cpu = cpu_seconds(getpid());
  fleet.loop.run(never, Clock::now() + std::chrono::seconds(options["seconds"]));
  auto const used = cpu_seconds(options["pid"]) - cpu;
  fmt::print(
      "{{\"cpu_s\": {:.2f}, \"cores\": {:.4f}, \"heartbeats_per_s\": {:.0f}, \"p50_us\": {}, \"p99_us\": {}, "
      "\"refused\": {}, \"formed_s\": {:.1f}, \"load_cores\": {:.3f}}}\n",
      used, used / options["seconds"], static_cast<double>(times.size()) / options["seconds"],
      at_share(times, 0.5).count(), at_share(times, 0.99).count(), refused, formed,
      (cpu_seconds(getpid()) - own_cpu) / options["seconds"]);
}

void rebalance(Options const& options) {
  Fleet fleet;
  auto const size = static_cast<size_t>(options["members"]);
  fleet.connect(options, static_cast<int>(size));
  GroupOptions group{.group_id = options.prefix + "rebalance", .heartbeat_interval = Millis(20)};
  size_t working = 0;
  Instant last_sync;
  Member::Events const events{
      .working = [&](Member&) { ++working, last_sync = Clock::now(); },
      .heard = [](auto) {},
      .owns = [](Member&, int32_t, bool) {},
      .refused = [](Member&, ErrorCode error) { Connection::die(fmt::format("a member was refused: {}", error)); },
  };
  for (size_t m = 0; m < size; ++m) {
    auto& member = fleet.add(group, *fleet.connections[m], events);
    member.join();
    member.start_heartbeats(Millis(20));
  }
  fleet.must("forming the group", Millis(60'000), [&] { return is_settled(fleet.members); });
  group.heartbeat_interval = Millis(3'600'000);
  fleet.loop.run([] { return false; }, Clock::now() + Millis(200));
  for (auto const& one : fleet.members) one->is_scripted = true;
  std::vector<double> times;
  for (int round = 0; round < options["rounds"]; ++round) {
    auto& first = *fleet.members[static_cast<size_t>(round) % size];
    auto& last = *fleet.members[(static_cast<size_t>(round) + 1) % size];
    working = 0;
    for (auto const& one : fleet.members) one->change();  // each Join makes a rebalance, whichever comes first
    first.join();
    fleet.loop.run([] { return false; }, Clock::now() + Millis(5));
    for (auto const& one : fleet.members) {
      if (one.get() != &last) one->join();
    }
    fleet.loop.run([] { return false; }, Clock::now() + Millis(50));
    auto const begin = Clock::now();
    last.join();
    fleet.must("a rebalance", Millis(30'000), [&] { return working == size; });
    times.push_back(std::chrono::duration<double, std::milli>(last_sync - begin).count());
  }
  fmt::print("{{\"ms_min\": {:.2f}, \"ms_median\": {:.2f}, \"ms_max\": {:.2f}, \"rounds\": {}}}\n", at_share(times, 0),
             at_share(times, 0.5), at_share(times, 1), times.size());
}

void rolling(Options const& options) {
  Fleet fleet;
  auto const size = static_cast<size_t>(options["members"]);
  auto const partitions = static_cast<size_t>(options["partitions"]);
  fleet.connect(options, static_cast<int>(size));
  GroupOptions group{.group_id = options.prefix + "rolling",
                     .partition_count = options["partitions"],
                     .heartbeat_interval = Millis(20),
                     .is_cooperative = true};
  std::vector<int> owners(partitions), pauses(partitions);
  size_t owned = 0, doubly = 0, refused = 0;
  Member::Events const events{
      .working = [](Member&) {},
      .heard = [](auto) {},
      .owns =
          [&](Member&, int32_t partition, bool is_gained) {
            auto& count = owners[static_cast<size_t>(partition)];
            count += is_gained ? 1 : -1;
            if (is_gained && count == 1) ++owned;
            if (is_gained && count > 1) ++doubly;
            if (is_gained || count > 0) return;
            --owned;
            ++pauses[static_cast<size_t>(partition)];
          },
      .refused = [&](Member&, ErrorCode) { ++refused; },
  };
  for (size_t m = 0; m < size; ++m) {
    auto& member = fleet.add(group, *fleet.connections[m], events, fmt::format("instance-{}", m));
    member.join();
    member.start_heartbeats(Millis(20));
  }
  auto const is_whole = [&] { return owned == partitions && is_settled(fleet.members); };
  fleet.must("forming the group", Millis(120'000), is_whole);
  fleet.loop.run([] { return false; }, Clock::now() + Millis(500));
  fleet.must("settling", Millis(60'000), is_whole);
  group.heartbeat_interval = Millis(options["interval"]);
  auto const first_generation = fleet.members[0]->generation();
  auto const begin = Clock::now();
  std::vector<std::unique_ptr<Member>> gone;  // timers still know them
  int pauses_most = 0;
  size_t others_paused = 0;
  refused = 0;
  for (size_t m = 0; m < size; ++m) {
    std::fill(pauses.begin(), pauses.end(), 0);
    auto const own = fleet.members[m]->owned();
    fleet.members[m]->stop();
    for (auto const partition : own) events.owns(*fleet.members[m], partition, false);
    gone.push_back(std::move(fleet.members[m]));
    fleet.connections[m].reset();
    fleet.loop.run([] { return false; }, Clock::now() + Millis(options["away"]));
    fleet.connections[m] = std::make_unique<Connection>(fleet.loop, options.host, options["port"]);
    fleet.members[m] =
        std::make_unique<Member>(fleet.loop, *fleet.connections[m], group, events, fmt::format("instance-{}", m));
    fleet.members[m]->join();
    fleet.members[m]->start_heartbeats(group.heartbeat_interval);
    fleet.must("a restart", Millis(120'000), [&] { return owned == partitions && fleet.members[m]->is_working(); });
    // Whoever was disturbed has heard of it by then.
    fleet.loop.run([] { return false; }, Clock::now() + (m % 20 == 19 ? group.heartbeat_interval : Millis(1)));
    for (size_t p = 0; p < partitions; ++p) {
      pauses_most = std::max(pauses_most, pauses[p]);
      if (pauses[p] > 0 && !own.contains(static_cast<int32_t>(p))) ++others_paused;
    }
  }
  fleet.must("settling at the end", Millis(60'000), [&] { return owned == partitions; });
  int generation = first_generation;
  for (auto const& one : fleet.members) generation = std::max(generation, one->generation());
  fmt::print(
      "{{\"restarts\": {}, \"pauses_of_a_partition_in_a_restart_max\": {}, \"pauses_of_others\": {}, "
      "\"generations\": {}, \"refused\": {}, \"owned_twice\": {}, \"seconds\": {:.1f}}}\n",
      size, pauses_most, others_paused, generation - first_generation, refused, doubly,
      std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace
}  // namespace load

int main(int count, char** words) {
  load::Options options;
  if (count > 1) options.kind = words[1];
  for (int i = 2; i < count; ++i) {
    std::string const word = words[i];
    auto const at = word.find('=');
    auto const name = word.substr(0, at);
    auto const value = at == std::string::npos ? "" : word.substr(at + 1);
    if (name == "host")
      options.host = value;
    else if (name == "prefix")
      options.prefix = value;
    else if (!value.empty() && options.numbers.contains(name))
      options.numbers[name] = std::atoi(value.c_str());
    else
      load::Connection::die(fmt::format("unknown option {}", word));
  }
  if (options.kind == "heartbeats")
    load::heartbeats(options);
  else if (options.kind == "rebalance")
    load::rebalance(options);
  else if (options.kind == "rolling")
    load::rolling(options);
  else
    load::Connection::die("heartbeats, rebalance or rolling? See the head of bench/group_load/main.cpp");
}
