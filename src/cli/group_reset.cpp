#include <charconv>
#include <fstream>
#include <set>

#include "groups.h"
#include "millrace/cli/time_text.h"
#include "millrace/protocol/api/offset_commit.h"
#include "offsets.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr int16_t kLastCommitWithTopicNames = 9;
constexpr size_t kLineCountMax = 1'000'000;

struct Step {
  std::optional<int64_t> before;
  int64_t after = -1;
};
using Plan = std::map<TopicPartition, Step>;

Error invalid(std::string message) { return {ErrorKind::invalid, std::move(message)}; }

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// Exactly one way to say where to go, and to whom it applies.
Status check(GroupResetOptions const& options) {
  int const ways = !options.to.empty() + !options.back.empty() + options.shift.has_value() + !options.file.empty();
  if (ways != 1) return invalid("say where to go: exactly one of --to, --back, --shift and --from-file");
  if (options.is_dry_run && options.execute) return invalid("--dry-run and --execute exclude each other");
  if (options.all_topics && !options.topics.empty()) return invalid("--topic and --all-topics exclude each other");
  bool const has_topics = options.all_topics || !options.topics.empty();
  if (!options.file.empty() && has_topics)
    return invalid("--from-file names the partitions; leave --topic and --all-topics out");
  if (options.file.empty() && !has_topics) return invalid("say what to reset: --topic TOPIC[:0,1] or --all-topics");
  if (options.as_csv && options.cluster.as_json) return invalid("--csv and --json exclude each other");
  return {};
}

// TOPIC,PARTITION,OFFSET lines, as Kafka's own tool writes them.
Result<std::map<TopicPartition, int64_t>> read_offsets(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid(fmt::format("cannot read {}", path));
  std::map<TopicPartition, int64_t> offsets;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (number > kLineCountMax) return invalid(fmt::format("{} has more than {} lines", path, kLineCountMax));
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    auto const bad = [&] {
      return invalid(fmt::format("{}:{}: '{}' is not TOPIC,PARTITION,OFFSET", path, number, line));
    };
    auto const last = line.rfind(',');
    if (last == std::string::npos || last == 0) return bad();
    auto const middle = line.rfind(',', last - 1);
    if (middle == std::string::npos || middle == 0) return bad();
    auto const view = std::string_view(line);
    auto const partition = parse_number(view.substr(middle + 1, last - middle - 1));
    auto const offset = parse_number(view.substr(last + 1));
    if (!partition || *partition > INT32_MAX || !offset) return bad();
    offsets[{line.substr(0, middle), static_cast<int32_t>(*partition)}] = *offset;
  }
  if (offsets.empty()) return invalid(fmt::format("{} names no partition", path));
  return offsets;
}

class Planner {
 public:
  Planner(Cluster& cluster, GroupResetOptions const& options, GroupView const& view)
      : cluster_(cluster), options_(options), view_(view) {}

  Result<Plan> plan() {
    std::map<TopicPartition, int64_t> from_file;
    std::vector<TopicPartition> partitions;
    if (!options_.file.empty()) {
      MR_TRY_ASSIGN(from_file, read_offsets(options_.file));
      for (auto const& [where, offset] : from_file) partitions.push_back(where);
    } else if (options_.all_topics) {
      for (auto const& [where, committed] : view_.committed) partitions.push_back(where);
      if (partitions.empty()) {
        return Error{ErrorKind::not_found,
                     fmt::format("{} has no committed offsets; name topics with --topic", options_.name)};
      }
    } else {
      MR_TRY_ASSIGN(partitions, parse_partitions(cluster_, options_.topics));
    }
    MR_TRY_ASSIGN(begins_, ask(partitions, kEarliestTimestamp));
    MR_TRY_ASSIGN(ends_, ask(partitions, kLatestTimestamp));

    Plan plan;
    for (auto const& where : partitions) {
      auto const committed = view_.committed.find(where);
      if (committed != view_.committed.end())
        plan[where].before = committed->second.offset;
      else
        plan[where] = {};
    }
    if (!from_file.empty()) {
      for (auto& [where, step] : plan) step.after = within(where, from_file.at(where));
    } else if (options_.shift) {
      MR_TRY(plan_shift(plan));
    } else if (!options_.back.empty()) {
      MR_TRY_ASSIGN(auto const back, parse_duration(options_.back));
      MR_TRY(plan_moment(plan, partitions, std::max(int64_t{0}, cluster_.wall_now().ms - back)));
    } else {
      MR_TRY(plan_to(plan, partitions));
    }
    return plan;
  }

 private:
  using Offsets = std::map<TopicPartition, FoundOffset>;

  Result<Offsets> ask(std::vector<TopicPartition> const& partitions, int64_t timestamp) {
    MR_TRY_ASSIGN(auto found, list_offsets(cluster_, partitions, timestamp));
    for (auto const& [where, answer] : found) {
      if (answer.error == ErrorCode::none) continue;
      return Error{ErrorKind::limit, fmt::format("offsets of {}-{}: {}\n  {}", where.topic, where.partition,
                                                 error_text(answer.error), remedy_for(answer.error))};
    }
    return found;
  }

  // A reader that begins outside of the log would jump by its own rule; so the nearest offset inside is taken.
  int64_t within(TopicPartition const& where, int64_t offset) {
    auto const inside = std::clamp(offset, begins_.at(where).offset, ends_.at(where).offset);
    if (inside != offset) {
      print_note(fmt::format("{}-{}: offset {} is outside of {} to {}; {} is taken", where.topic, where.partition,
                             offset, begins_.at(where).offset, ends_.at(where).offset, inside));
    }
    return inside;
  }

  Status plan_shift(Plan& plan) {
    for (auto& [where, step] : plan) {
      if (!step.before) {
        return invalid(fmt::format("{}-{} has no committed offset to shift; use --to earliest or --to latest for it",
                                   where.topic, where.partition));
      }
      int64_t target = 0;
      if (__builtin_add_overflow(*step.before, *options_.shift, &target)) target = *options_.shift > 0 ? INT64_MAX : 0;
      step.after = within(where, target);
    }
    return {};
  }

  Status plan_to(Plan& plan, std::vector<TopicPartition> const& partitions) {
    if (options_.to == "earliest" || options_.to == "latest") {
      auto const& offsets = options_.to == "earliest" ? begins_ : ends_;
      for (auto& [where, step] : plan) step.after = offsets.at(where).offset;
      return {};
    }
    if (options_.to == "current") {  // those that have none go to the end, as in Kafka
      for (auto& [where, step] : plan) step.after = step.before ? within(where, *step.before) : ends_.at(where).offset;
      return {};
    }
    if (auto const offset = parse_number(options_.to)) {
      for (auto& [where, step] : plan) step.after = within(where, *offset);
      return {};
    }
    auto const moment = parse_moment(options_.to);
    if (!moment)
      return invalid(
          fmt::format("--to '{}' is neither earliest, latest, current, an offset, @MILLISECONDS since 1970 nor a time "
                      "like 2026-11-29T10:20:30Z",
                      options_.to));
    return plan_moment(plan, partitions, *moment);
  }

  // The first record of that time or later; the end where there is none.
  Status plan_moment(Plan& plan, std::vector<TopicPartition> const& partitions, int64_t ms) {
    MR_TRY_ASSIGN(auto const found, ask(partitions, ms));
    for (auto& [where, step] : plan) {
      auto const offset = found.at(where).offset;
      step.after = offset >= 0 ? offset : ends_.at(where).offset;
    }
    return {};
  }

  Cluster& cluster_;
  GroupResetOptions const& options_;
  GroupView const& view_;
  Offsets begins_;
  Offsets ends_;
};

void print_plan(GroupResetOptions const& options, Plan const& plan, bool is_executed) {
  if (options.cluster.as_json) {
    auto list = Json::array();
    for (auto const& [where, step] : plan) {
      list.add(Json::object(
          {{"topic", where.topic}, {"partition", where.partition}, {"before", step.before}, {"after", step.after}}));
    }
    return print_json(Json::object({{"group", options.name}, {"executed", is_executed}, {"offsets", list}}));
  }
  if (options.as_csv) {
    for (auto const& [where, step] : plan) fmt::print("{},{},{}\n", where.topic, where.partition, step.after);
    return;
  }
  Table table({"TOPIC", "PARTITION", "BEFORE", "AFTER", "CHANGE"});
  for (auto const& [where, step] : plan) {
    table.add({where.topic, fmt::to_string(where.partition),
               step.before ? fmt::to_string(*step.before) : std::string(kNothing), fmt::to_string(step.after),
               step.before ? fmt::format("{:+}", step.after - *step.before) : std::string(kNothing)});
  }
  table.print();
}

// Says which partitions were refused; ok: none was.
Status commit(Cluster& cluster, GroupResetOptions const& options, Plan const& plan) {
  using Request = protocol::OffsetCommitRequest;
  std::map<std::string_view, std::vector<Request::OffsetCommitRequestPartition>> by_topic;
  for (auto const& [where, step] : plan) {
    by_topic[where.topic].push_back({.partition_index = where.partition, .committed_offset = step.after});
  }
  std::vector<Request::OffsetCommitRequestTopic> topics;
  for (auto& [name, partitions] : by_topic) {
    auto& topic = topics.emplace_back();
    topic.name = name;
    topic.partitions = partitions;
  }

  std::string refused;
  auto const refuse = [&](std::string const& name, ErrorCode code, std::optional<std::string_view> message) {
    refused += fmt::format("{}{}: {}", refused.empty() ? "" : "\n  ", name, error_text(code, message));
  };
  auto const ask = [&](int32_t node, std::vector<std::string> const&) -> Result<AgainList> {
    Request request;
    request.group_id = options.name;
    request.topics = topics;
    MR_TRY_ASSIGN(auto const reply,
                  (cluster.call_node<protocol::OffsetCommitResponse>(node, request, kLastCommitWithTopicNames)));
    for (auto const& topic : reply.message.topics) {
      for (auto const& partition : topic.partitions) {
        if (is_coordinator_moving(partition.error_code)) return AgainList{{options.name, partition.error_code}};
        // This is how a coordinator answers a commit from outside while the group has members.
        bool const has_members = partition.error_code == ErrorCode::unknown_member_id;
        if (partition.error_code != ErrorCode::none) {
          refuse(fmt::format("{}-{}", topic.name, partition.partition_index), partition.error_code,
                 has_members
                     ? std::optional<std::string_view>("a member has joined meanwhile; stop the consumers first")
                     : std::nullopt);
        }
      }
    }
    return AgainList();
  };
  MR_TRY(ask_coordinators(cluster, {options.name}, ask, refuse));
  if (!refused.empty()) return Error{ErrorKind::limit, refused};
  return {};
}

}  // namespace

int reset_group(GroupResetOptions const& options) {
  if (auto const checked = check(options); !checked) return report(checked.error(), options.cluster);
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);

  // A group that does not exist is made by its first commit.
  std::optional<Error> refusal;
  auto views = view_groups(
      **cluster, {options.name}, [&](std::string const& name, ErrorCode code, std::optional<std::string_view> message) {
        if (code != ErrorCode::group_id_not_found)
          refusal = Error{ErrorKind::limit, fmt::format("{}: {}", name, error_text(code, message))};
      });
  if (!views) return report(views.error(), options.cluster);
  if (refusal) return report(*refusal, options.cluster);
  auto const view = views->empty() ? GroupView() : std::move(views->front());
  if (view.listed.type == "share") {
    print_error(fmt::format("{} is a share group, whose offsets are not committed by its members", options.name),
                "Kafka's kafka-share-groups.sh --reset-offsets moves its start offsets.");
    return kFailed;
  }
  auto const plan = Planner(**cluster, options, view).plan();
  if (!plan) return report(plan.error(), options.cluster);

  bool const is_busy = !view.members.empty();
  if (options.execute && !is_busy) {
    if (auto const done = commit(**cluster, options, *plan); !done) return report(done.error(), options.cluster);
  }
  print_plan(options, *plan, options.execute && !is_busy);
  if (is_busy) {
    print_error(fmt::format("{} is {} with {} member{}: nothing was changed", options.name, view.listed.state,
                            view.members.size(), view.members.size() == 1 ? "" : "s"),
                "Offsets can be reset only while no consumer of the group runs; stop them and wait until `millrace "
                "group describe --state` says Empty.");
    return kFailed;
  }
  if (!options.execute) print_note("Nothing was changed; pass --execute to commit these offsets.");
  return kOk;
}

}  // namespace millrace::cli
