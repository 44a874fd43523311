// OffsetFetch: of one group, or since version 8 of several; topics by name, since version 10 by id.
#include "millrace/protocol/api/offset_fetch.h"
#include "group_requests.h"
#include "handlers.h"
#include "millrace/metadata/image.h"
#include "repeats.h"

namespace millrace::broker {
namespace {

using coordinator::FetchAnswer;
using protocol::OffsetFetchRequest;
using protocol::OffsetFetchResponse;

constexpr int16_t kFirstVersionWithAllTopics = 2;  // and with an error of the group
constexpr int16_t kFirstVersionWithGroups = 8;
constexpr int16_t kFirstVersionWithTopicId = 10;

template <class Partition>
Partition to_partition(FetchAnswer::Partition const& from) {
  Partition out;
  out.partition_index = from.index;
  out.committed_offset = from.offset;
  out.committed_leader_epoch = from.leader_epoch;
  out.metadata = from.metadata;
  out.error_code = from.error;
  return out;
}

void handle_one(ContextPtr context, OffsetFetchRequest const& request) {
  coordinator::FetchOffsets fetch;
  fetch.group_id = request.group_id;
  fetch.require_stable = request.require_stable;
  auto const version = context->version();
  if (!request.topics.is_null()) {
    fetch.topics.emplace();
    for (auto const& topic : request.topics) {
      auto const indexes = topic.partition_indexes.span();
      fetch.topics->push_back({std::string(topic.name), {}, {indexes.begin(), indexes.end()}});
    }
  }
  auto const group_id = fetch.group_id;
  ask_coordinator<FetchAnswer>(
      std::move(context), std::move(fetch), group_id, [version, request](RequestContext& back, FetchAnswer& answer) {
        if (answer.error != ErrorCode::none && version < kFirstVersionWithAllTopics) {
          // Only partitions can carry an error.
          for (auto const& topic : request.topics) {
            auto& out = answer.topics.emplace_back();
            out.name = topic.name;
            for (auto const index : topic.partition_indexes)
              out.partitions.push_back({.index = index, .error = answer.error, .metadata = {}});
          }
        }
        auto& arena = back.arena();
        OffsetFetchResponse response;
        response.error_code = answer.error;
        response.topics = arena.array<OffsetFetchResponse::OffsetFetchResponseTopic>(answer.topics.size());
        for (size_t t = 0; t < answer.topics.size(); ++t) {
          using Partition = OffsetFetchResponse::OffsetFetchResponsePartition;
          auto const& from = answer.topics[t].partitions;
          response.topics[t].name = answer.topics[t].name;
          response.topics[t].partitions = arena.array<Partition>(from.size());
          for (size_t p = 0; p < from.size(); ++p) response.topics[t].partitions[p] = to_partition<Partition>(from[p]);
        }
        back.reply(response);
      });
}

void handle_several(ContextPtr context, OffsetFetchRequest const& request) {
  bool const is_by_id = context->version() >= kFirstVersionWithTopicId;
  std::vector<coordinator::FetchOffsets> fetches;
  std::vector<bool> is_asked;
  Repeats<Str> repeats;
  for (auto const& group : request.groups) {
    is_asked.push_back(repeats.may_answer(group.group_id));
    if (!is_asked.back()) continue;
    auto& fetch = fetches.emplace_back();
    fetch.group_id = group.group_id;
    fetch.require_stable = request.require_stable;
    if (group.topics.is_null()) continue;
    fetch.topics.emplace();
    for (auto const& topic : group.topics) {
      auto const indexes = topic.partition_indexes.span();
      auto& asked = fetch.topics->emplace_back();
      asked.name = topic.name;
      if (is_by_id) {
        auto const* const known = context->image().find_topic(topic.topic_id);
        if (known != nullptr) asked.name = known->name;
        asked.topic_id = topic.topic_id;
        if (known == nullptr) continue;  // asked for nothing; answered below
      }
      asked.partitions.assign(indexes.begin(), indexes.end());
    }
  }
  ask_coordinators<FetchAnswer>(
      std::move(context), std::move(fetches),
      [request, is_by_id, is_asked = std::move(is_asked)](RequestContext& back, std::vector<FetchAnswer>& answers) {
        using Topics = OffsetFetchResponse::OffsetFetchResponseTopics;
        using Partition = OffsetFetchResponse::OffsetFetchResponsePartitions;
        auto& arena = back.arena();
        OffsetFetchResponse response;
        response.groups = arena.array<OffsetFetchResponse::OffsetFetchResponseGroup>(is_asked.size());
        auto next = answers.begin();
        for (size_t g = 0; g < is_asked.size(); ++g) {
          auto const& group = request.groups[g];
          auto& out = response.groups[g];
          out.group_id = group.group_id;
          if (!is_asked[g]) {
            out.error_code = ErrorCode::invalid_request;
            continue;
          }
          auto& answer = *next++;
          out.error_code = answer.error;
          ArrayBuilder<Topics> topics(arena, answer.topics.size());
          for (size_t t = 0; t < answer.topics.size(); ++t) {
            auto& from = answer.topics[t];
            auto topic_id = from.topic_id;
            if (is_by_id && group.topics.is_null()) {
              auto const* const known = back.image().find_topic(from.name);
              if (known == nullptr) continue;  // deleted; its offsets go soon
              topic_id = known->id;
            } else if (is_by_id && back.image().find_topic(topic_id) == nullptr) {
              for (auto const index : group.topics[t].partition_indexes) {
                from.partitions.push_back({.index = index, .error = ErrorCode::unknown_topic_id, .metadata = {}});
              }
            }
            auto& topic = topics.add();
            topic.name = from.name;
            topic.topic_id = topic_id;
            topic.partitions = arena.array<Partition>(from.partitions.size());
            for (size_t p = 0; p < from.partitions.size(); ++p) {
              topic.partitions[p] = to_partition<Partition>(from.partitions[p]);
            }
          }
          out.topics = topics.finish();
        }
        back.reply(response);
      });
}

}  // namespace

void handle_offset_fetch(ContextPtr context) {
  OffsetFetchRequest request;
  if (!context->decode(request)) return;
  if (context->version() >= kFirstVersionWithGroups)
    handle_several(std::move(context), request);
  else
    handle_one(std::move(context), request);
}

}  // namespace millrace::broker
