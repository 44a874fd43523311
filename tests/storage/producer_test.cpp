// Proves the rules of idempotent and transactional producers as Kafka has them, with and without batches in flight, and
// that a snapshot restores them.
#include "fixture.h"
#include "millrace/storage/leader_epochs.h"

namespace millrace::storage {
namespace {

ProducerClaim claim(int64_t offset, int32_t sequence, int count = 1, int16_t epoch = 0, bool is_transactional = false) {
  return {.producer_id = ProducerId(1),
          .epoch = ProducerEpoch(epoch),
          .first_sequence = sequence,
          .last_sequence = record::increment_sequence(sequence, count - 1),
          .base_offset = Offset(offset),
          .last_offset = Offset(offset + count - 1),
          .timestamp_ms = kNow.ms,
          .is_transactional = is_transactional};
}

ProducerClaim marker(int64_t offset, bool is_commit, int16_t epoch = 0, int32_t coordinator_epoch = 0) {
  auto out = claim(offset, -1, 1, epoch, true);
  out.is_control = true;
  out.is_commit = is_commit;
  out.coordinator_epoch = coordinator_epoch;
  return out;
}

ClaimVerdict verdict(ProducerState const& state, ProducerClaim const& c, ProducerOverlay const* overlay = nullptr) {
  return state.check(c, overlay, ClaimOrigin::client).verdict;
}

TEST(Producers, sequences_follow_each_other_and_the_last_five_are_remembered) {
  ProducerState state;
  EXPECT_EQ(verdict(state, claim(0, 17)), ClaimVerdict::append);  // unknown: may begin anywhere
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(verdict(state, claim(i * 2, i * 2, 2)), ClaimVerdict::append);
    state.apply(claim(i * 2, i * 2, 2));
  }
  EXPECT_EQ(verdict(state, claim(14, 15)), ClaimVerdict::out_of_order_sequence);
  for (int i = 2; i < 7; ++i) {
    auto const answer = state.check(claim(99, i * 2, 2), nullptr, ClaimOrigin::client);
    EXPECT_EQ(answer.verdict, ClaimVerdict::duplicate);
    EXPECT_EQ(answer.batch.first_offset(), Offset(i * 2));
    EXPECT_FALSE(answer.is_in_flight);
  }
  EXPECT_EQ(verdict(state, claim(99, 2, 2)), ClaimVerdict::out_of_order_sequence);   // too old
  EXPECT_EQ(verdict(state, claim(99, 12, 1)), ClaimVerdict::out_of_order_sequence);  // another size
}

TEST(Producers, sequences_wrap) {
  ProducerState state;
  auto const max = std::numeric_limits<int32_t>::max();
  state.apply(claim(0, max - 1, 3));
  EXPECT_EQ(state.find(ProducerId(1))->last_sequence(), 0);
  EXPECT_EQ(state.find(ProducerId(1))->batches[0].first_sequence(), max - 1);
  EXPECT_EQ(verdict(state, claim(3, 1)), ClaimVerdict::append);
  EXPECT_EQ(verdict(state, claim(3, max - 1, 3)), ClaimVerdict::duplicate);
  state.clear();
  state.apply(claim(0, max, 1));
  EXPECT_EQ(verdict(state, claim(1, 0)), ClaimVerdict::append);
}

TEST(Producers, epochs_fence_and_begin_at_zero) {
  ProducerState state;
  state.apply(claim(0, 0, 1, 3));
  EXPECT_EQ(verdict(state, claim(1, 1, 1, 2)), ClaimVerdict::invalid_producer_epoch);
  EXPECT_EQ(verdict(state, claim(1, 1, 1, 4)), ClaimVerdict::out_of_order_sequence);
  EXPECT_EQ(verdict(state, claim(1, 0, 1, 4)), ClaimVerdict::append);
  EXPECT_EQ(state.check(claim(1, 9, 1, 1), nullptr, ClaimOrigin::replication).verdict, ClaimVerdict::append);
}

TEST(Producers, the_overlay_counts_as_appended_and_its_duplicates_are_in_flight) {
  ProducerState state;
  state.apply(claim(0, 0));
  ProducerOverlay overlay;
  EXPECT_EQ(verdict(state, claim(1, 1), &overlay), ClaimVerdict::append);
  overlay.add(state, claim(1, 1));
  EXPECT_EQ(verdict(state, claim(2, 2), &overlay), ClaimVerdict::append);
  EXPECT_EQ(verdict(state, claim(2, 2)), ClaimVerdict::out_of_order_sequence);
  auto answer = state.check(claim(2, 1), &overlay, ClaimOrigin::client);
  EXPECT_EQ(answer.verdict, ClaimVerdict::duplicate);
  EXPECT_TRUE(answer.is_in_flight);
  answer = state.check(claim(2, 0), &overlay, ClaimOrigin::client);
  EXPECT_EQ(answer.verdict, ClaimVerdict::duplicate);
  EXPECT_FALSE(answer.is_in_flight);
  overlay.clear();
  EXPECT_EQ(verdict(state, claim(2, 2), &overlay), ClaimVerdict::out_of_order_sequence);
}

TEST(Producers, transactions_hold_the_last_stable_offset) {
  ProducerState state;
  state.apply(claim(10, 0, 2, 0, true));
  auto other = claim(12, 0, 2, 0, true);
  other.producer_id = ProducerId(2);
  state.apply(other);
  EXPECT_EQ(state.first_open_offset(), Offset(10));
  EXPECT_EQ(verdict(state, claim(14, 2)), ClaimVerdict::invalid_transaction_state);
  auto const ended = state.apply(marker(14, false));
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->is_aborted);
  EXPECT_EQ(ended->first_offset, Offset(10));
  EXPECT_EQ(ended->last_offset, Offset(14));
  EXPECT_EQ(ended->last_stable_offset, Offset(12));
  // The marker is not committed yet: its transaction still counts.
  EXPECT_EQ(state.first_unstable_offset(Offset(14)), Offset(10));
  EXPECT_EQ(state.first_unstable_offset(Offset(15)), Offset(12));
  state.forget_completed_below(Offset(15));
  EXPECT_FALSE(state.has_completed());
  EXPECT_FALSE(state.apply(marker(15, true)).has_value());  // ends nothing
  auto late = marker(16, true, 0, 5);
  late.producer_id = ProducerId(2);
  EXPECT_EQ(state.apply(late)->last_stable_offset, Offset(17));
  auto fenced = marker(17, true, 0, 4);
  fenced.producer_id = ProducerId(2);
  EXPECT_EQ(state.check(fenced, nullptr, ClaimOrigin::coordinator).verdict,
            ClaimVerdict::transaction_coordinator_fenced);
}

TEST(Producers, snapshots_restore_and_expiry_spares_open_transactions) {
  ProducerState state;
  state.apply(claim(0, 5, 2));
  auto open = claim(2, 0, 1, 1, true);
  open.producer_id = ProducerId(44);
  state.apply(open);
  auto const text = state.snapshot();
  ProducerState loaded;
  MR_ASSERT_OK(loaded.load(text, kNow, 1000));
  EXPECT_EQ(loaded, state);
  EXPECT_EQ(loaded.first_open_offset(), Offset(2));
  EXPECT_EQ(loaded.snapshot(), text);
  for (size_t i = 0; i < text.size(); ++i) {
    auto broken = text;
    broken[i] ^= 0x10;
    ProducerState other;
    EXPECT_FALSE(other.load(broken, kNow, 1000).ok()) << i;
    EXPECT_TRUE(other.empty());
  }
  EXPECT_FALSE(loaded.load(text.substr(0, text.size() - 1), kNow, 1000).ok());
  MR_ASSERT_OK(loaded.load(text, {kNow.ms + 1000}, 1000));
  EXPECT_EQ(loaded.size(), 1u);
  state.expire({kNow.ms + 1000}, 1000);
  EXPECT_EQ(state.size(), 1u);
  EXPECT_NE(state.find(ProducerId(44)), nullptr);
}

TEST(Epochs, what_a_batch_says_goes_before_what_was_noted) {
  struct Case {
    std::string noted;
    int32_t epoch;
    int64_t first, last;
    std::string is;
  };
  for (auto const& one : std::vector<Case>{
           {"0 0\n", 0, 4, 7, "0 0\n"},
           {"0 0\n", 2, 4, 7, "0 0\n2 4\n"},
           {"0 0\n2 4\n", 2, 4, 7, "0 0\n2 4\n"},
           {"0 0\n1 4\n", 0, 4, 7, "0 0\n"},               // its records were cut
           {"0 0\n1 8\n", 0, 4, 7, "0 0\n1 8\n"},          // begins behind it
           {"0 0\n1 4\n3 8\n", 0, 4, 7, "0 0\n3 8\n"},
           {"0 0\n1 8\n", 1, 4, 7, "0 0\n1 4\n"},          // began earlier at the leader it was copied from
           {"0 0\n1 6\n3 9\n", 2, 4, 7, "0 0\n2 4\n3 9\n"},
           {"1 4\n", 2, 4, 7, "2 4\n"},
           {"", 3, 4, 7, "3 4\n"},
       }) {
    auto const rows = std::count(one.noted.begin(), one.noted.end(), '\n');
    auto epochs = *LeaderEpochs::parse(fmt::format("0\n{}\n{}", rows, one.noted));
    EXPECT_EQ(epochs.correct(LeaderEpoch(one.epoch), Offset(one.first), Offset(one.last)), one.noted != one.is) << one.noted;
    EXPECT_EQ(epochs.text().substr(4), one.is) << one.noted;
  }
}

TEST(Epochs, ends_and_truncation) {
  LeaderEpochs epochs;
  EXPECT_EQ(epochs.end_of(LeaderEpoch(0), Offset(10)), EpochEnd{});
  EXPECT_TRUE(epochs.assign(LeaderEpoch(1), Offset(0)));
  EXPECT_TRUE(epochs.assign(LeaderEpoch(3), Offset(10)));
  EXPECT_FALSE(epochs.assign(LeaderEpoch(3), Offset(12)));
  EXPECT_FALSE(epochs.assign(LeaderEpoch(2), Offset(12)));
  EXPECT_EQ(epochs.end_of(LeaderEpoch(0), Offset(20)), (EpochEnd{LeaderEpoch(0), Offset(0)}));
  EXPECT_EQ(epochs.end_of(LeaderEpoch(1), Offset(20)), (EpochEnd{LeaderEpoch(1), Offset(10)}));
  EXPECT_EQ(epochs.end_of(LeaderEpoch(2), Offset(20)), (EpochEnd{LeaderEpoch(1), Offset(10)}));
  EXPECT_EQ(epochs.end_of(LeaderEpoch(3), Offset(20)), (EpochEnd{LeaderEpoch(3), Offset(20)}));
  EXPECT_EQ(epochs.end_of(LeaderEpoch(4), Offset(20)), EpochEnd{});
  EXPECT_EQ(epochs.epoch_of(Offset(9)), LeaderEpoch(1));
  EXPECT_TRUE(epochs.assign(LeaderEpoch(5), Offset(10)));  // nothing was written in 3
  EXPECT_EQ(epochs.entries().size(), 2u);
  EXPECT_EQ(*LeaderEpochs::parse(epochs.text()), epochs);
  EXPECT_TRUE(epochs.truncate_from_start(Offset(4)));
  EXPECT_EQ(epochs.earliest(), (EpochStart{LeaderEpoch(1), Offset(4)}));
  EXPECT_TRUE(epochs.truncate_from_end(Offset(10)));
  EXPECT_EQ(epochs.latest()->epoch, LeaderEpoch(1));
}

TEST(Marks, are_read_whole) {
  PublishedMarks marks;
  Marks const first{.epoch = LeaderEpoch(4),
                    .log_start = Offset(1),
                    .last_stable = {Offset(2), LogPosition(20)},
                    .high_watermark = {Offset(3), LogPosition(30)},
                    .end = {Offset(4), LogPosition(40)}};
  uint64_t version = 9;
  EXPECT_EQ(marks.read(&version).end.offset, Offset(0));
  EXPECT_EQ(version, 0u);
  marks.publish(first);
  EXPECT_EQ(marks.read(&version), first);
  EXPECT_EQ(version, 1u);
  EXPECT_EQ(marks.version(), 1u);
}

}  // namespace
}  // namespace millrace::storage
