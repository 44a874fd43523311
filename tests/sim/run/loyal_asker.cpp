#include "sim/run/loyal_asker.h"

#include "sim/run/offset_question.h"

namespace millrace::sim {

using namespace std::chrono_literals;
using protocol::ListOffsetsResponse;

LoyalAsker::LoyalAsker(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers)
    : DataActor(env, reactor, run, fmt::format("loyal-{}", run.history.client_count), std::move(brokers), 120s), id_(run.add_client()) {}

void LoyalAsker::on_metadata() {
  if (!std::exchange(is_started_, true)) ask_later();
}

void LoyalAsker::ask_later() {
  after(1ms + draw_wait(broker_ == kNobody ? 50ms : 400ms), [this] {
    ask();
    ask_later();
  });
}

void LoyalAsker::ask() {
  if (broker_ == kNobody || in_flight_ >= kInFlightMax) return;
  client_.connect(broker_, [this, broker = broker_](bool is_open) {
    if (!is_open) return;
    auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
    auto info = run_.partitions[p];
    info.leader_epoch = -1;  // as clients do that know of no epochs
    OffsetQuestion const question(info, kLatest, checker::Isolation::read_uncommitted);
    checker::EndAsked asked{id_, p, run_.now(), 0, -1, true, checker::Isolation::read_uncommitted, -1};
    ++in_flight_;
    client_.call<ListOffsetsResponse>(broker, question.request, kListOffsetsLowest, 11, [this, asked](client::Reply<ListOffsetsResponse>* reply) mutable {
      --in_flight_;
      auto const* answer = only_answer(reply);
      if (answer == nullptr || answer->error_code != ErrorCode::none) {
        ++refusals_;
        return;
      }
      asked.end = run_.now();
      asked.offset = answer->offset;
      ends_.push_back(asked);
    });
  });
}

}  // namespace millrace::sim
