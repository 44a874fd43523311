// Proves the rules of idempotent and transactional producers as Kafka has them, with and without batches in flight, and
// that a snapshot and the side file beside it restore them.
#include "fixture.h"
#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/endian.h"
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

TEST(Producers, a_refusal_tells_where_the_producer_was) {
  auto const max = std::numeric_limits<int32_t>::max();
  ProducerState state;
  state.apply(claim(0, 0, 2, 3));
  auto other = claim(2, max);
  other.producer_id = ProducerId(2);
  state.apply(other);
  auto const was_at = [&](ProducerClaim const& c, ProducerOverlay const* overlay = nullptr) {
    auto const answer = state.check(c, overlay, ClaimOrigin::client);
    return fmt::format("{} of epoch {}", answer.next_sequence, answer.known_epoch);
  };
  EXPECT_EQ(was_at(claim(2, 5, 1, 3)), "2 of epoch 3");
  EXPECT_EQ(was_at(claim(2, 5, 1, 4)), "2 of epoch 3");  // a new epoch begins at 0
  EXPECT_EQ(was_at(claim(2, 2, 1, 2)), "2 of epoch 3");  // an old one is over
  other.first_sequence = other.last_sequence = 7;
  EXPECT_EQ(was_at(other), "0 of epoch 0");
  ProducerOverlay overlay;
  overlay.add(state, claim(2, 2, 3, 3));
  EXPECT_EQ(was_at(claim(5, 9, 1, 3), &overlay), "5 of epoch 3");
}

TEST(Producers, a_gap_is_where_batches_of_the_same_epoch_are_missing) {
  auto const max = std::numeric_limits<int32_t>::max();
  ProducerState state;
  auto const is_gap = [&](ProducerClaim const& c, ProducerOverlay const* overlay = nullptr) {
    return state.check(c, overlay, ClaimOrigin::client).is_gap;
  };
  EXPECT_FALSE(is_gap(claim(20, 0, 1, 3)));
  EXPECT_TRUE(is_gap(claim(20, 1, 1, 3)));  // of a producer that is not known
  EXPECT_EQ(verdict(state, claim(20, 1, 1, 3)), ClaimVerdict::append);
  EXPECT_FALSE(state.check(claim(20, 1, 1, 3), nullptr, ClaimOrigin::replication).is_gap);

  state.apply(claim(8, 2, 2, 3));
  EXPECT_FALSE(is_gap(claim(20, 4, 1, 3)));
  EXPECT_TRUE(is_gap(claim(20, 5, 1, 3)));
  EXPECT_FALSE(is_gap(claim(20, 1, 1, 3)));  // before it
  EXPECT_FALSE(is_gap(claim(20, 0, 1, 4)));
  EXPECT_TRUE(is_gap(claim(20, 5, 1, 4)));   // a new epoch begins at 0
  EXPECT_FALSE(is_gap(claim(20, 5, 1, 2)));  // an old one is over
  EXPECT_EQ(state.check(claim(20, 5, 1, 3), nullptr, ClaimOrigin::client).last_offset, Offset(9));
  ProducerOverlay overlay;
  overlay.add(state, claim(10, 4, 1, 3));
  EXPECT_FALSE(is_gap(claim(20, 5, 1, 3), &overlay));
  EXPECT_EQ(state.check(claim(20, 6, 1, 3), &overlay, ClaimOrigin::client).last_offset, Offset(10));

  state.apply(claim(10, max - 1, 1, 3));
  EXPECT_FALSE(is_gap(claim(20, max, 1, 3)));
  EXPECT_TRUE(is_gap(claim(20, 0, 1, 3)));
  EXPECT_FALSE(is_gap(claim(20, max - 2, 1, 3)));
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

constexpr std::string_view kBatchesFile = "millrace-producer-batches";

// A producer that has up to five batches in flight sends them all again when the node comes back.
struct ProducersOverRestarts : testing::Test {
  void SetUp() override {
    MR_ASSERT_OK(machine.start());
    log = *machine.create();
  }
  void produce(int sequence, int count = 2, int64_t producer_id = 1) {
    MR_ASSERT_OK(append_next(
        *log, {.count = count, .producer_id = producer_id, .producer_epoch = 0, .sequence = sequence}));
  }
  void leave() {
    MR_ASSERT_OK(machine.stop(*log));
    log.reset();
    machine.leave();
  }
  void open() {
    MR_ASSERT_OK(machine.start());
    log = *machine.open();
  }
  void restart() {
    leave();
    open();
  }
  void kill_and_open() {
    log.reset();
    machine.kill();
    open();
  }
  // Base offset of the batch that this one is taken for; -1: refused, as out of order.
  int64_t again(int sequence, int count = 2, int64_t producer_id = 1) {
    auto sent = claim(99, sequence, count);
    sent.producer_id = ProducerId(producer_id);
    auto const answer = log->producers().check(sent, nullptr, ClaimOrigin::client);
    if (answer.verdict == ClaimVerdict::duplicate) return answer.batch.first_offset().value;
    EXPECT_EQ(answer.verdict, ClaimVerdict::out_of_order_sequence);
    return -1;
  }
  std::string side_file() { return machine.content(std::string(kBatchesFile)); }
  void place(std::string const& content) {
    machine.image.place("/data/orders-0/" + std::string(kBatchesFile), content);
  }

  Machine machine;
  std::shared_ptr<PartitionLog> log;
};

TEST_F(ProducersOverRestarts, all_five_batches_are_remembered_after_clean_restarts) {
  for (int i = 0; i < 6; ++i) {
    produce(i * 2);
    produce(i, 1, 7);
  }
  produce(0, 3, 8);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(again(0), -1) << "only five are kept";
    for (int i = 1; i < 6; ++i) {
      EXPECT_EQ(again(i * 2), i * 3) << i;
      EXPECT_EQ(again(i, 1, 7), i * 3 + 2) << i;
    }
    EXPECT_EQ(again(2, 1), -1) << "another size";
    EXPECT_EQ(again(0, 3, 8), 18);
    restart();
  }
  produce(12);
  EXPECT_EQ(again(2), -1);
  EXPECT_EQ(again(4), 6);
  restart();
  EXPECT_EQ(again(2), -1);
  EXPECT_EQ(again(4), 6);
  EXPECT_EQ(again(12), 21);
}

TEST_F(ProducersOverRestarts, after_a_kill_a_snapshot_and_the_log_behind_it_give_all_five) {
  for (bool const is_rolled : {false, true}) {
    for (int i = 0; i < 3; ++i) produce(i * 2 + (is_rolled ? 10 : 0));
    auto const first = log->end().offset.value - 6;
    // A flush writes a snapshot after so much log, and so does a roll.
    if (is_rolled) {
      MR_ASSERT_OK(log->roll(kNow));
    } else {
      MR_ASSERT_OK(append_next(*log, {.value_bytes = 5 << 20}));
    }
    auto const second = log->end().offset.value;
    MR_ASSERT_OK(machine.flush(Mono{is_rolled ? 500s : 100s}));
    ASSERT_EQ(log->recovery_point(), Offset(second));
    ASSERT_NE(machine.content(fmt::format("{:020}.snapshot", second)), "<missing>");
    for (int i = 3; i < 5; ++i) produce(i * 2 + (is_rolled ? 10 : 0));
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(again(i * 2 + (is_rolled ? 10 : 0)), i < 3 ? first + i * 2 : second + (i - 3) * 2) << i << is_rolled;
      }
      kill_and_open();
    }
  }
}

TEST_F(ProducersOverRestarts, what_was_cut_is_not_remembered) {
  for (int i = 0; i < 3; ++i) produce(i * 2);
  restart();
  auto const old = side_file();
  EXPECT_NE(old, "<missing>");
  MR_ASSERT_OK(log->truncate_to(Offset(4)));
  EXPECT_EQ(side_file(), "<missing>");
  EXPECT_EQ(again(0), 0);
  EXPECT_EQ(again(2), 2);
  EXPECT_EQ(verdict(log->producers(), claim(4, 4, 2)), ClaimVerdict::append);
  MR_ASSERT_OK(log->truncate_to(Offset(0)));
  // Up to the same offset, and with the same last batch, but others before it. There is no room to tell of them.
  produce(0, 4);
  produce(4);
  machine.image.add_fault(
      {.call = sim::DiskCall::open, .path_part = std::string(kBatchesFile), .error = ErrorKind::no_space});
  leave();
  EXPECT_EQ(side_file(), "<missing>");
  machine.image.clear_faults();
  open();
  EXPECT_EQ(again(4), 4);
  EXPECT_EQ(again(0), -1);
  EXPECT_EQ(again(2), -1);
}

TEST_F(ProducersOverRestarts, an_older_file_goes_when_there_is_no_room_for_a_new_one) {
  for (int i = 0; i < 3; ++i) produce(i * 2);
  restart();
  EXPECT_NE(side_file(), "<missing>");
  produce(6);
  machine.image.add_fault(
      {.call = sim::DiskCall::write, .path_part = std::string(kBatchesFile), .error = ErrorKind::no_space});
  leave();
  EXPECT_EQ(side_file(), "<missing>");
  open();
  EXPECT_EQ(again(6), 6);
  EXPECT_EQ(again(4), -1);
}

TEST_F(ProducersOverRestarts, a_damaged_foreign_or_old_file_is_ignored) {
  for (int i = 0; i < 3; ++i) produce(i * 2);
  leave();
  auto const first = side_file();
  open();
  for (int i = 3; i < 5; ++i) produce(i * 2);
  leave();
  auto const good = side_file();
  std::vector<std::string> bad{first, "", good.substr(0, good.size() - 1), good + '\0'};
  for (size_t i = 0; i < good.size(); ++i) {
    bad.push_back(good);
    bad.back()[i] ^= 0x10;
  }
  // Whole, but of another topic, another offset, another snapshot, another format.
  auto const sealed = [](std::string text) {
    text.resize(text.size() - 4);
    std::array<std::byte, 4> sum;
    store_be(sum.data(), crc32c(as_bytes(text)));
    return text + std::string(as_text(sum));
  };
  for (size_t const at : {0u, 8u, 31u, 35u}) {
    auto other = good;
    other[at] ^= 1;
    bad.push_back(sealed(other));
  }
  for (auto const& content : bad) {
    place(content);
    open();
    EXPECT_EQ(again(8), 8);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(again(i * 2), -1) << content.size();
    leave();
  }
  // What cannot be true in a file that is whole changes nothing.
  for (size_t at = 36; at < good.size() - 4; ++at) {
    for (char const bit : {'\x01', '\x80'}) {
      auto other = good;
      other[at] ^= bit;
      place(sealed(other));
      open();
      EXPECT_EQ(again(8), 8);
      EXPECT_EQ(verdict(log->producers(), claim(99, 10)), ClaimVerdict::append);
      leave();
    }
  }
  place(good);
  open();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(again(i * 2), i * 2);
}

TEST_F(ProducersOverRestarts, no_file_is_there_while_no_producer_has_more_than_one_batch) {
  produce(0);
  produce(0, 1, 2);
  restart();
  EXPECT_EQ(side_file(), "<missing>");
  produce(2);
  restart();
  EXPECT_NE(side_file(), "<missing>");
  MR_ASSERT_OK(append_next(*log, {.producer_id = 1, .producer_epoch = 1, .sequence = 0}));
  restart();
  EXPECT_EQ(side_file(), "<missing>");
}

TEST_F(ProducersOverRestarts, batches_below_the_log_start_are_left_out) {
  for (int i = 0; i < 5; ++i) produce(i * 2);
  MR_ASSERT_OK(log->delete_records(Offset(4), Offset(10)));
  restart();
  EXPECT_EQ(again(0), -1);
  EXPECT_EQ(again(2), -1);
  EXPECT_EQ(again(4), 4);
  EXPECT_EQ(again(6), 6);
}

TEST(Producers, earlier_batches_must_lead_up_to_the_last_one) {
  ProducerState whole;
  for (int i = 0; i < 3; ++i) whole.apply(claim(i * 2, i * 2, 2));
  auto const batches = whole.find(ProducerId(1))->batches;
  auto const restored = [&](std::array<ProducerBatch, 2> earlier, int16_t epoch = 0) {
    ProducerState state;
    EXPECT_TRUE(state.load(whole.snapshot(), kNow, 1000).ok());
    state.add_earlier(ProducerId(1), ProducerEpoch(epoch), earlier, Offset(0));
    return static_cast<int>(state.find(ProducerId(1))->batch_count);
  };
  EXPECT_EQ(restored({batches[0], batches[1]}), 3);
  EXPECT_EQ(restored({batches[0], batches[1]}, 1), 1);
  EXPECT_EQ(restored({batches[1], batches[0]}), 1);
  EXPECT_EQ(restored({batches[1], batches[1]}), 2);
  auto past = batches[1];
  past.last_offset = Offset(4);
  EXPECT_EQ(restored({batches[0], past}), 1);
  auto negative = batches[1];
  negative.offset_delta = -1;
  EXPECT_EQ(restored({batches[0], negative}), 1);
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
