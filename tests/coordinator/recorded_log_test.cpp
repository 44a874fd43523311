// Proves on two partitions of __consumer_offsets that Apache Kafka 4.4.0 wrote that loading gives the groups and
// offsets that Kafka had, that records of other group types are left alone, and that we write the same bytes for the
// same state.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "millrace/bytes/cursor.h"
#include "millrace/coordinator/group_coordinator.h"
#include "millrace/record/record.h"

namespace millrace::coordinator {
namespace {

std::vector<Record> read_records(std::string const& name) {
  std::ifstream file(std::string(MR_TEST_DATA) + "/coordinator/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream bytes;
  bytes << file.rdbuf();
  auto const text = bytes.str();
  std::vector<Record> out;
  record::BatchReader batches(as_bytes(text));
  record::BatchView batch;
  while (batches.next(batch)) {
    record::RecordReader records(batch, batch.payload());
    record::RecordView one;
    while (records.next(one)) {
      out.push_back(
          {SharedBytes::copy_of(*one.key), one.value ? std::optional(SharedBytes::copy_of(*one.value)) : std::nullopt});
    }
  }
  return out;
}

bool is_equal(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void expect_same(Record const& ours, Record const& kafkas) {
  EXPECT_TRUE(is_equal(ours.key.view(), kafkas.key.view()));
  ASSERT_EQ(ours.value.has_value(), kafkas.value.has_value());
  if (ours.value) {
    EXPECT_TRUE(is_equal(ours.value->view(), kafkas.value->view()));
  }
}

Status load(GroupCoordinator& machine, std::vector<Record> const& records) {
  Effects out;
  machine.on_event(LoadStarted{}, {}, out);
  for (auto const& record : records) {
    MR_TRY(machine.replay(record.key.view(), record.value ? std::optional(record.value->view()) : std::nullopt));
  }
  machine.on_event(Loaded{Offset(static_cast<int64_t>(records.size()))}, {}, out);
  machine.check_invariants();
  return {};
}

}  // namespace

TEST(RecordedOffsets, load_as_kafka_had_them) {
  GroupCoordinator machine{GroupConfig{}};
  ASSERT_TRUE(load(machine, read_records("consumer_offsets-0.log")));
  auto const* const member = "inst-1-61d582cd-70b9-49c1-86f3-bae24a112b5e";
  EXPECT_EQ(machine.find("g-classic")->state(), GroupState::stable);
  EXPECT_EQ(machine.find("g-classic")->generation(), 1);
  EXPECT_TRUE(machine.find("g-classic")->is_leader(member));
  EXPECT_TRUE(machine.find("g-classic")->is_subscribed("plain"));
  EXPECT_FALSE(machine.find("g-classic")->is_subscribed("other"));
  EXPECT_EQ(machine.find("g-classic")->find(member)->client_host, "/127.0.0.1");
  EXPECT_EQ(machine.find("g-simple")->state(), GroupState::empty);
  EXPECT_EQ(machine.store().find_offset("g-simple", "plain", 0)->offset, 3);
  EXPECT_EQ(machine.store().find_offset("g-simple", "plain", 0)->metadata, "meta");
  EXPECT_EQ(machine.store().find_offset("g-simple", "plain", 1)->offset, 5);
  EXPECT_EQ(machine.store().find_offset("g-classic", "plain", 0)->topic_id.text(), "OKnAc5I8Qk2MYzNMtrDIMw");

  GroupCoordinator other{GroupConfig{}};
  ASSERT_TRUE(load(other, read_records("consumer_offsets-3.log")));
  EXPECT_EQ(other.find("g-gone"), nullptr);
  EXPECT_EQ(other.find("g-share"), nullptr);
}

TEST(RecordedOffsets, are_written_as_kafka_writes_them) {
  size_t groups = 0, offsets = 0, tombstones = 0;
  for (auto const* const file : {"consumer_offsets-0.log", "consumer_offsets-3.log"}) {
    for (auto const& record : read_records(file)) {
      Reader in(record.key.view());
      auto const type = in.i16();
      if (type > 2) continue;
      auto const text = [&] { return std::string(as_text(in.bytes(static_cast<size_t>(in.i16())))); };
      auto const group = text();
      GroupStore store;
      ASSERT_TRUE(
          store.replay(record.key.view(), record.value ? std::optional(record.value->view()) : std::nullopt).ok());
      if (type == 2) {
        auto const* const entry = store.find(group);
        expect_same(record.value ? group_record(group, *entry->group) : group_tombstone(group), record);
        ++(record.value ? groups : tombstones);
      } else {
        auto const topic = text();
        auto const partition = in.i32();
        expect_same(record.value ? offset_record(group, topic, partition, *store.find_offset(group, topic, partition))
                                 : offset_tombstone(group, topic, partition),
                    record);
        ++(record.value ? offsets : tombstones);
      }
    }
  }
  EXPECT_EQ(groups, 2u);
  EXPECT_EQ(offsets, 5u);
  EXPECT_EQ(tombstones, 2u);
}

TEST(RecordedOffsets, damaged_records_are_refused) {
  for (auto const& record : read_records("consumer_offsets-0.log")) {
    if (Reader(record.key.view()).i16() > 2) continue;
    GroupStore store;
    EXPECT_FALSE(store.replay(record.key.slice(0, record.key.size() - 1).view(), record.value->view()).ok());
    EXPECT_FALSE(store.replay(record.key.view(), record.value->slice(0, record.value->size() / 2).view()).ok());
    EXPECT_FALSE(store.replay(record.key.slice(0, 1).view(), {}).ok());
    EXPECT_EQ(store.text(), "");
  }
}

TEST(TransactionalOffsets, count_once_their_transaction_has_committed) {
  GroupStore store;
  auto const record = offset_record("g", "t", 0, {5, -1, "", 1, -1, {}});
  auto const replay = [&](Record const& one, ProducerId producer) {
    EXPECT_TRUE(store.replay(one.key.view(), one.value->view(), producer).ok());
  };
  replay(record, ProducerId{7});
  EXPECT_TRUE(store.has_pending_offset("g", "t", 0));
  EXPECT_TRUE(store.has_pending_offsets("g"));
  EXPECT_FALSE(store.has_pending_offsets("f"));
  EXPECT_EQ(store.find_offset("g", "t", 0), nullptr);
  store.end_transaction(ProducerId{7}, false);
  EXPECT_EQ(store.find_offset("g", "t", 0), nullptr);
  replay(record, ProducerId{7});
  store.end_transaction(ProducerId{8}, true);
  EXPECT_TRUE(store.has_pending_offset("g", "t", 0));
  store.end_transaction(ProducerId{7}, true);
  EXPECT_FALSE(store.has_pending_offset("g", "t", 0));
  EXPECT_EQ(store.find_offset("g", "t", 0)->offset, 5);
}

}  // namespace millrace::coordinator
