// DeleteRecords: raises the log start of partitions, and answers where it is now.
#include "handlers.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/api/delete_records.h"
#include "millrace/runtime/partition_manager.h"

namespace millrace::broker {
namespace {

using protocol::DeleteRecordsRequest;
using protocol::DeleteRecordsResponse;

// How long own logs may take, beyond the client's timeout: one may still be opening.
constexpr auto kOwnLogsMax = 30s;

class DeleteRecordsJob : public Deadline, public std::enable_shared_from_this<DeleteRecordsJob> {
 public:
  explicit DeleteRecordsJob(ContextPtr context) : context_(std::move(context)) {}
  void start();

 private:
  using Out = DeleteRecordsResponse::DeleteRecordsPartitionResult;

  void delete_one(std::shared_ptr<runtime::PartitionDriver> const& partition, Offset before, Out& out);
  void on_answer(Out& out, ErrorCode error, Offset low_watermark, bool waited);
  void on_own_log();
  void on_deadline() override { finish(); }
  void finish();

  ContextPtr context_;
  DeleteRecordsRequest request_;
  DeleteRecordsResponse response_;
  size_t left_ = 0;
  size_t own_logs_left_ = 1;
  bool is_finished_ = false;
};

void DeleteRecordsJob::start() {
  if (!context_->decode(request_)) return;
  auto& arena = context_->arena();
  auto& thread = context_->thread();
  thread.deadlines.add(*this, context_->arrived() + from_ms(std::max(request_.timeout_ms, 0)) + kOwnLogsMax);
  response_.topics = arena.array<DeleteRecordsResponse::DeleteRecordsTopicResult>(request_.topics.size());
  for (size_t t = 0; t < request_.topics.size(); ++t) {
    auto const& topic = request_.topics[t];
    auto const* topic_image = context_->image().find_topic(topic.name);
    auto& out = response_.topics[t];
    out.name = topic.name;
    out.partitions = arena.array<Out>(topic.partitions.size());
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      auto const& asked = topic.partitions[p];
      auto& one = out.partitions[p];
      one.partition_index = asked.partition_index;
      one.low_watermark = -1;
      // What is not answered in time.
      one.error_code = ErrorCode::request_timed_out;
      if (topic_image == nullptr || topic_image->find_partition(asked.partition_index) == nullptr) {
        one.error_code = ErrorCode::unknown_topic_or_partition;
        continue;
      }
      auto const partition = context_->services().partitions.find({topic_image->id, asked.partition_index});
      if (partition == nullptr) one.error_code = ErrorCode::not_leader_or_follower;
      else if (!partition->config()->log.is_deleting) one.error_code = ErrorCode::policy_violation;
      else delete_one(partition, Offset(asked.offset), one);
    }
  }
  on_own_log();
}

void DeleteRecordsJob::delete_one(std::shared_ptr<runtime::PartitionDriver> const& partition, Offset before, Out& out) {
  ++left_;
  ++own_logs_left_;
  auto const waited = std::make_shared<bool>(false);
  // Always by post: the partition's driver is still at work, perhaps on another thread.
  partition->delete_records(
      before,
      [self = shared_from_this(), waited] {
        *waited = true;
        self->context_->thread().reactor.post([self] { self->on_own_log(); });
      },
      [self = shared_from_this(), out = &out, waited](ErrorCode error, Offset low_watermark) {
        self->context_->thread().reactor.post(
            [self, out, error, low_watermark, waited] { self->on_answer(*out, error, low_watermark, *waited); });
      },
      context_->thread().run_list);
}

void DeleteRecordsJob::on_answer(Out& out, ErrorCode error, Offset low_watermark, bool waited) {
  out.error_code = error;
  out.low_watermark = low_watermark.value;
  --left_;
  if (!waited) return on_own_log();
  if (left_ == 0 && own_logs_left_ == 0) finish();
}

// The client's timeout is for the other replicas: it begins when nothing is left to do here, as in Kafka.
void DeleteRecordsJob::on_own_log() {
  if (is_finished_ || --own_logs_left_ > 0) return;
  if (left_ == 0) return finish();
  auto& thread = context_->thread();
  Deadlines::remove(*this);
  thread.deadlines.add(*this, thread.reactor.now() + from_ms(std::max(request_.timeout_ms, 0)));
}

void DeleteRecordsJob::finish() {
  if (std::exchange(is_finished_, true)) return;
  Deadlines::remove(*this);
  context_->reply(response_);
}

}  // namespace

void handle_delete_records(ContextPtr context) { std::make_shared<DeleteRecordsJob>(std::move(context))->start(); }

}  // namespace millrace::broker
