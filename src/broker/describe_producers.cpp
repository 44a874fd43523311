// DescribeProducers: what partitions know of the idempotent and transactional producers that write to them.
#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/describe_producers.h"
#include "millrace/runtime/partition_manager.h"
#include "open_gate.h"
#include "repeats.h"

namespace millrace::broker {
namespace {

using protocol::DescribeProducersRequest;
using protocol::DescribeProducersResponse;

class ProducersJob : public std::enable_shared_from_this<ProducersJob> {
 public:
  explicit ProducersJob(ContextPtr context) : context_(std::move(context)) {}
  void start();

 private:
  using Out = DescribeProducersResponse::PartitionResponse;

  void ask();
  void on_answer(Out& out, ErrorCode error, runtime::PartitionDriver::Producers const& producers);
  void one_less() { if (--left_ == 0) context_->reply(response_); }

  ContextPtr context_;
  DescribeProducersRequest request_;
  DescribeProducersResponse response_;
  std::vector<std::shared_ptr<runtime::PartitionDriver>> partitions_;  // those that are asked
  std::vector<Out*> outs_;                                             // where their answers go
  size_t left_ = 1;
};

void ProducersJob::start() {
  if (!context_->decode(request_)) return;
  auto& arena = context_->arena();
  response_.topics = arena.array<DescribeProducersResponse::TopicResponse>(request_.topics.size());
  Repeats<std::pair<Str, int32_t>> repeats;
  for (size_t t = 0; t < request_.topics.size(); ++t) {
    auto const& topic = request_.topics[t];
    auto const* topic_image = context_->image().find_topic(topic.name);
    auto& out = response_.topics[t];
    out.name = topic.name;
    out.partitions = arena.array<Out>(topic.partition_indexes.size());
    for (size_t p = 0; p < topic.partition_indexes.size(); ++p) {
      auto& one = out.partitions[p];
      one.partition_index = topic.partition_indexes[p];
      // Kafka explains an unknown topic, but not a partition that a topic does not have.
      if (topic_image == nullptr) one.error_message = "This server does not host this topic-partition.";
      if (topic_image == nullptr || topic_image->find_partition(one.partition_index) == nullptr) {
        one.error_code = ErrorCode::unknown_topic_or_partition;
        continue;
      }
      if (!repeats.may_answer({topic.name, one.partition_index})) {
        one.error_code = ErrorCode::invalid_request;
        one.error_message = "The request names this partition too often.";
        continue;
      }
      auto partition = context_->services().partitions.find({topic_image->id, one.partition_index});
      if (partition == nullptr) {
        one.error_code = ErrorCode::not_leader_or_follower;
        continue;
      }
      partitions_.push_back(std::move(partition));
      outs_.push_back(&one);
    }
  }
  when_open(*context_, partitions_, kOpenWaitMax, [self = shared_from_this()] { self->ask(); });
}

void ProducersJob::ask() {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    auto& one = *outs_[i];
    if (one.error_code = partitions_[i]->check_leader(kNoLeaderEpoch); one.error_code != ErrorCode::none) continue;
    ++left_;
    partitions_[i]->describe_producers(
        [self = shared_from_this(), &one](ErrorCode error, runtime::PartitionDriver::Producers producers) {
          // By post: the partition's driver is still at work, perhaps on another thread.
          self->context_->thread().reactor.post([self, &one, error, producers = std::move(producers)] {
            self->on_answer(one, error, producers);
          });
        },
        context_->thread().run_list);
  }
  one_less();
}

void ProducersJob::on_answer(Out& out, ErrorCode error, runtime::PartitionDriver::Producers const& producers) {
  out.error_code = error;
  out.active_producers = context_->arena().array<DescribeProducersResponse::ProducerState>(producers.size());
  for (size_t i = 0; i < producers.size(); ++i) {
    auto const& [id, entry] = producers[i];
    out.active_producers[i] = {
        .producer_id = id.value,
        .producer_epoch = entry.epoch.value,
        .last_sequence = entry.last_sequence(),
        .last_timestamp = entry.last_timestamp_ms,
        .coordinator_epoch = entry.coordinator_epoch,
        .current_txn_start_offset = entry.open_transaction_first_offset.value_or(Offset(-1)).value,
    };
  }
  one_less();
}

}  // namespace

void handle_describe_producers(ContextPtr context) { std::make_shared<ProducersJob>(std::move(context))->start(); }

}  // namespace millrace::broker
