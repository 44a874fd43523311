#include "millrace/runtime/coordinator_driver.h"

#include "millrace/record/builder.h"
#include "millrace/record/record.h"

namespace millrace::runtime {

using coordinator::Answer;
using coordinator::Event;

// Keeps the batch alive, and brings what becomes of it back into the driver.
class CoordinatorDriver::Append final : public AppendSink {
 public:
  Append(std::shared_ptr<CoordinatorDriver> driver, uint64_t era, std::vector<std::byte> batch, int32_t count)
      : driver_(std::move(driver)), era_(era), batch_(std::move(batch)), count_(count) {}
  MutableByteView batch() { return batch_; }

  void on_written(uint32_t, Offset base_offset) override {
    end_ = base_offset + count_;
    was_written_ = true;
    auto& here = driver_->list_here();
    driver_->post([driver = driver_, era = era_, end = end_] { driver->on_written(era, end); }, here);
  }
  void on_appended(uint32_t) override {}
  void on_answer(uint32_t, AppendAnswer const& answer) override {
    auto& here = driver_->list_here();
    driver_->post([driver = driver_, era = era_, was_written = was_written_, error = answer.error,
                   end = end_] { driver->on_append_answer(era, was_written, error, end); },
                  here);
  }

 private:
  std::shared_ptr<CoordinatorDriver> driver_;
  uint64_t const era_;
  std::vector<std::byte> batch_;
  int32_t const count_;
  Offset end_;
  bool was_written_ = false;
};

// A machine that a job fills from the log; nobody else sees it meanwhile.
struct CoordinatorDriver::Loading {
  uint64_t era = 0;
  std::unique_ptr<coordinator::GroupCoordinator> machine;
  Offset end;
  Status status;
  int64_t refused_records = 0;
  std::string refusal;
};

CoordinatorDriver::CoordinatorDriver(env::Env& env, RunLists& run_lists, std::shared_ptr<PartitionDriver> partition,
                                     CoordinatorOptions options)
    : Driver(env.hooks()),
      env_(env),
      run_lists_(run_lists),
      partition_(std::move(partition)),
      options_(options),
      machine_(std::make_unique<coordinator::GroupCoordinator>(options_.groups, env.hooks())) {}

CoordinatorDriver::~CoordinatorDriver() = default;

void CoordinatorDriver::abandon() {
  drop_events();
  // Moved out first: what is destroyed may look at the driver.
  static_cast<void>(std::exchange(queued_, {}));
  static_cast<void>(std::exchange(taken_, {}));
  static_cast<void>(std::exchange(waiters_, {}));
}

RunList& CoordinatorDriver::list_here() {
  for (size_t i = 0; i < env_.reactor_count(); ++i) {
    if (env_.reactor(i).is_current()) return run_lists_.of(env_.reactor(i));
  }
  return run_lists_.control();
}

// ---- Requests

void CoordinatorDriver::submit(Event request, env::Reactor& back, Callback<void(Answer)> done, RunList& here) {
  bool must_start = false;
  {
    std::lock_guard lock(mutex_);
    if (queued_.size() < kQueuedRequestsMax) {
      queued_.push_back({std::move(request), {&back, std::move(done)}});
      must_start = !is_deciding_.load(std::memory_order_relaxed) && must_start_locked(Urgency::turn_end);
    }
  }
  if (must_start) start(Urgency::turn_end, here);
  if (!done) return;
  MR_PROBE(hooks(), "coordinator.queue_full");
  back.post([request = std::move(request), done = std::move(done)]() mutable {
    std::move(done)(coordinator::refusal(request, ErrorCode::coordinator_not_available));
  });
}

bool CoordinatorDriver::take_requests_locked() {
  if (is_deciding_.load(std::memory_order_relaxed)) return false;
  while (!queued_.empty() && taken_.size() < kTakenMax) {
    taken_.push_back(std::move(queued_.front()));
    queued_.pop_front();
  }
  return !taken_.empty();
}

size_t CoordinatorDriver::run_requests() {
  size_t count = 0;
  for (; !taken_.empty() && !machine_->is_deciding(); ++count) {
    auto next = std::move(taken_.front());
    taken_.pop_front();
    auto const ticket = next_ticket_++;
    coordinator::set_ticket(next.request, ticket);
    waiters_.emplace(ticket, std::move(next.waiter));
    tell(std::move(next.request));
  }
  return count;
}

void CoordinatorDriver::tell(Event event) {
  machine_->on_event(std::move(event), now(), effects_);
  perform();
}

void CoordinatorDriver::perform() {
  auto const deadline = here().reactor().now() + options_.commit_timeout;
  for (auto& reply : effects_.replies) {
    if (reply.after_offset <= committed_ || MR_MUTANT(hooks(), "commit_before_mark")) {
      send(reply.ticket, std::move(reply.answer));
    } else {
      uncommitted_.push_back({reply.after_offset, deadline, reply.ticket, std::move(reply.answer)});
    }
  }
  auto const records = std::move(effects_.append);
  effects_.clear();
  is_deciding_.store(machine_->is_deciding(), std::memory_order_relaxed);
  if (!records.empty()) append(records);
}

void CoordinatorDriver::send(coordinator::Ticket ticket, Answer answer) {
  auto const at = waiters_.find(ticket);
  MR_ASSERT(at != waiters_.end());
  auto waiter = std::move(at->second);
  waiters_.erase(at);
  waiter.back->post(
      [done = std::move(waiter.done), answer = std::move(answer)]() mutable { std::move(done)(std::move(answer)); });
}

// ---- Decisions

void CoordinatorDriver::append(std::vector<coordinator::Record> const& records) {
  // As Kafka's coordinators build their batches, with a sequence although there is no producer.
  record::BatchOptions options;
  options.base_sequence = 0;
  record::BatchBuilder builder(options);
  auto const timestamp = env_.wall_now().ms;
  for (auto const& one : records) {
    builder.append({timestamp, one.key.view(), one.value ? std::optional(one.value->view()) : std::nullopt, {}});
  }
  ++unwritten_;
  auto sink = std::make_shared<Append>(self(), era_, builder.build(), static_cast<int32_t>(records.size()));
  if (static_cast<int64_t>(sink->batch().size()) > partition_->config()->message_bytes_max) {
    return sink->on_answer(0, {.error = ErrorCode::record_list_too_large});
  }
  partition_->append({.sink = sink, .index = 0, .batch = sink->batch(), .wants_all_replicas = true}, here());
}

void CoordinatorDriver::on_written(uint64_t era, Offset end) {
  --unwritten_;
  if (era != era_) return;
  tell(coordinator::AppendAccepted{end});
}

void CoordinatorDriver::on_append_answer(uint64_t era, bool was_written, ErrorCode error, Offset end) {
  if (!was_written) --unwritten_;
  if (era != era_) return;
  if (!was_written) {
    MR_ASSERT(error != ErrorCode::none);
    return tell(coordinator::AppendRefused{error});
  }
  if (error == ErrorCode::none) {
    committed_ = std::max(committed_, end);
    return release();
  }
  // It is in the log and may or may not stay there: what we know rests on it, so all is read again.
  MR_PROBE(hooks(), "coordinator.written_but_lost");
  env_.log().warn("coordinator", "{}-{}: records up to {} are not committed ({}); loading again",
                  partition_->identity().name.topic, partition_->identity().name.partition, end, error);
  start_load();
}

void CoordinatorDriver::release() {
  while (!uncommitted_.empty() && uncommitted_.front().after_offset <= committed_) {
    auto one = std::move(uncommitted_.front());
    uncommitted_.pop_front();
    send(one.ticket, std::move(one.answer));
  }
}

void CoordinatorDriver::refuse_waiting(ErrorCode error) {
  for (auto& one : std::exchange(uncommitted_, {})) {
    coordinator::set_error(one.answer, error);
    send(one.ticket, std::move(one.answer));
  }
}

// ---- Leading and loading

void CoordinatorDriver::lead(LeaderEpoch epoch, RunList& here) {
  post(
      [this, epoch] {
        if (is_leading_ && epoch == epoch_) return;
        is_leading_ = true;
        epoch_ = epoch;
        start_load();
      },
      here);
}

void CoordinatorDriver::resign(RunList& here) {
  post(
      [this] {
        if (!std::exchange(is_leading_, false)) return;
        ++era_;
        tell(coordinator::Resign{});
        refuse_waiting(ErrorCode::not_coordinator);
      },
      here);
}

void CoordinatorDriver::topics_deleted(std::vector<std::pair<std::string, Uuid>> topics, RunList& here) {
  post(
      [this, topics = std::move(topics)]() mutable {
        if (machine_->is_active()) return tell(coordinator::TopicsDeleted{std::move(topics)});
        if (is_leading_) deleted_topics_.insert(deleted_topics_.end(), topics.begin(), topics.end());
      },
      here);
}

void CoordinatorDriver::figures(FiguresRequest request, Callback<void(CoordinatorFigures)> done, RunList& here) {
  post(
      [this, request = std::move(request), done = std::move(done)]() mutable {
        CoordinatorFigures out;
        if (is_leading_) {
          out.coordinators = 1;
          out.coordinators_loading = machine_->is_active() ? 0 : 1;
        }
        out.requests = static_cast<int64_t>(next_ticket_ - 1);
        out.requests_queued = static_cast<int64_t>(waiters_.size() + taken_.size());
        out.rebalances = rebalance_count_ + machine_->rebalance_count();
        auto left = request.offset_count_max;
        auto const add = [&](std::string const& id, coordinator::GroupStore::Entry const& entry) {
          auto const* const group = machine_->find(id);
          if (group == nullptr) return;
          auto& one = out.groups.emplace_back();
          one.id = id;
          one.state = coordinator::name(group->state());
          one.member_count = static_cast<int64_t>(group->members().size());
          for (auto const& [topic, partitions] : entry.offsets) {
            out.offset_count += static_cast<int64_t>(partitions.size());
            for (auto const& [partition, committed] : partitions) {
              if (left == 0) {
                ++out.offsets_left_out;
                continue;
              }
              --left;
              one.offsets.push_back({topic, committed.topic_id, partition, Offset(committed.offset)});
            }
          }
        };
        if (machine_->is_active()) {
          auto const& store = machine_->store();
          if (!request.group_id) {
            for (auto const& [id, entry] : store.entries()) add(id, entry);
          } else if (auto const* const entry = store.find(*request.group_id)) {
            add(*request.group_id, *entry);
          }
        }
        std::move(done)(std::move(out));
      },
      here);
}

void CoordinatorDriver::start_load() {
  ++era_;
  tell(coordinator::LoadStarted{});  // this machine only says so; the log is read into another one
  refuse_waiting(ErrorCode::not_coordinator);
  partition_->when_open(here().reactor(), [self = self(), era = era_] {
    self->post([self, era] { self->load(era); }, self->list_here());
  });
}

void CoordinatorDriver::after(Duration wait, uint64_t era, void (CoordinatorDriver::*what)(uint64_t)) {
  auto& list = here();
  list.reactor().call_at(list.reactor().now() + wait, [self = self(), list = &list, era, what] {
    self->post([self, era, what] { (self.get()->*what)(era); }, *list);
  });
}

void CoordinatorDriver::retry_load(uint64_t era) {
  if (era == era_ && is_leading_) start_load();
}

namespace {

// Fills `machine` with the records below `end`. What cannot be read as a record is counted and passed over, since the
// groups of all other records would be lost with it.
Status read_log(storage::ReadView const& view, storage::Marks const& marks, coordinator::GroupCoordinator& machine,
                int64_t& refused_records, std::string& refusal) {
  CodecContext codecs;
  std::vector<std::byte> scratch;
  auto from = marks.log_start;
  while (from < marks.end.offset) {
    storage::ReadRequest request;
    request.from = from;
    request.bytes_max = CoordinatorDriver::kReadBytes;
    request.upper = marks.end;
    request.region_bytes_min = std::numeric_limits<int64_t>::max();
    MR_TRY_ASSIGN(auto const read, view.read(request));
    if (!read.records) break;
    auto const& bytes = std::get<SharedBytes>(*read.records);
    record::BatchReader batches(bytes.view());
    record::BatchView batch;
    auto const before = from;
    while (batches.next(batch)) {
      if (!batch.has_header() || batch.next_offset() <= from) continue;
      from = batch.next_offset();
      ByteView records;
      if (auto const fault = record::open_records(batch, {}, codecs, scratch, records)) {
        return Error{ErrorKind::corrupt, fmt::format("read the batch at {}: {}", batch.base_offset(), fault.message)};
      }
      record::RecordReader reader(batch, records);
      record::RecordView one;
      while (reader.next(one)) {
        if (batch.is_control()) {
          auto type = record::ControlType::unknown;
          if (record::read_control_type(one, type)) continue;
          machine.end_transaction(batch.producer_id(), type == record::ControlType::commit);
          continue;
        }
        if (!one.key) continue;
        auto const producer = batch.is_transactional() ? batch.producer_id() : kNoProducerId;
        if (auto const status = machine.replay(*one.key, one.value, producer); !status) {
          ++refused_records;
          refusal = fmt::format("offset {}: {}", one.offset, status.error().message);
        }
      }
    }
    if (from == before) break;
  }
  if (from >= marks.end.offset) return {};
  return Error{ErrorKind::corrupt, fmt::format("nothing can be read at {} below the end {}", from, marks.end.offset)};
}

}  // namespace

void CoordinatorDriver::load(uint64_t era) {
  if (era != era_ || !is_leading_) return;
  auto const marks = partition_->marks();
  // What an earlier era handed over must be in the log, or surely not, before the log is read.
  if (partition_->status() != PartitionStatus::leader || marks.epoch != epoch_ || unwritten_ > 0) {
    return after(kLeadRetry, era, &CoordinatorDriver::load);
  }
  auto loading = std::make_shared<Loading>();
  loading->era = era;
  loading->end = marks.end.offset;
  loading->machine = std::make_unique<coordinator::GroupCoordinator>(options_.groups, env_.hooks());
  coordinator::Effects none;
  loading->machine->on_event(coordinator::LoadStarted{}, now(), none);
  auto& list = here();
  env_.pool(partition_->directory().path())
      .run(
          list.reactor(),
          [loading, marks, view = partition_->view()] {
            loading->status = read_log(view, marks, *loading->machine, loading->refused_records, loading->refusal);
          },
          [self = self(), loading, list = &list] { self->post([self, loading] { self->on_loaded(loading); }, *list); });
}

void CoordinatorDriver::on_loaded(std::shared_ptr<Loading> const& loading) {
  if (loading->era != era_) return;
  auto const& name = partition_->identity().name;
  if (!loading->status) {
    env_.log().error("coordinator", "load {}-{}: {}", name.topic, name.partition, loading->status.error().message);
    return after(kLoadRetry, era_, &CoordinatorDriver::retry_load);
  }
  if (loading->refused_records > 0) {
    env_.log().error("coordinator", "load {}-{}: {} records passed over, the last at {}", name.topic, name.partition,
                     loading->refused_records, loading->refusal);
  }
  rebalance_count_ += machine_->rebalance_count();
  machine_ = std::move(loading->machine);
  committed_ = std::min(partition_->marks().high_watermark.offset, loading->end);
  tell(coordinator::Loaded{loading->end});
  if (!deleted_topics_.empty()) tell(coordinator::TopicsDeleted{std::exchange(deleted_topics_, {})});
  auto const group_count = machine_->store().entries().size();
  // Of the usual 50 partitions most have none.
  if (group_count == 0) env_.log().debug("coordinator", "{}-{}: no groups", name.topic, name.partition);
  else env_.log().info("coordinator", "{}-{}: {} groups loaded", name.topic, name.partition, group_count);
}

// ---- Time

void CoordinatorDriver::finish_round() {
  auto const instant = here().reactor().now();
  if (!uncommitted_.empty()) {
    committed_ =
        std::max(committed_, std::min(partition_->marks().high_watermark.offset, uncommitted_.back().after_offset));
    release();
    while (!uncommitted_.empty() && uncommitted_.front().deadline <= instant) {
      auto one = std::move(uncommitted_.front());
      uncommitted_.pop_front();
      coordinator::set_error(one.answer, ErrorCode::coordinator_not_available);
      send(one.ticket, std::move(one.answer));
    }
  }
  arm();
}

void CoordinatorDriver::arm() {
  auto& list = here();
  auto const instant = list.reactor().now();
  auto when = machine_->next_deadline();
  if (!uncommitted_.empty()) when = std::min(when, instant + kMarkPoll);
  if (when == Mono::never() || when >= armed_) return;
  armed_ = when;
  auto task = [self = self(), list = &list, when] { self->post([self, when] { self->on_timer(when); }, *list); };
  if (when <= instant)
    list.reactor().post(std::move(task));
  else
    list.reactor().call_at(when, std::move(task));
}

void CoordinatorDriver::on_timer(Mono when) {
  if (when != armed_) return;  // an earlier one was armed since
  armed_ = Mono::never();
  if (machine_->next_deadline() <= here().reactor().now()) tell(coordinator::TimerFired{});
}

}  // namespace millrace::runtime
