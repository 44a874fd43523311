// What the metrics of partitions' changes count, from the decisions of a controller.
#include "millrace/metadata/partition_changes.h"

#include "story.h"

namespace millrace::metadata {
namespace {

TEST(PartitionChanges, CountsShrinksExpandsAndNewLeaders) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "1"}});
  PartitionChanges here, elsewhere;
  auto before = std::make_shared<Image const>(story.image());
  auto const publish = [&] {
    auto after = std::make_shared<Image const>(story.image());
    Publication const publication{before, after, compare_images(*before, *after)};
    here.add(publication, BrokerId{1});
    elsewhere.add(publication, BrokerId{2});
    before = after;
  };
  publish();
  EXPECT_EQ(here.leaders, 0);
  ASSERT_EQ(story.alter_isr("t", {1, 2}), ErrorCode::none);
  publish();
  EXPECT_EQ(here.isr_shrinks, 1);
  EXPECT_EQ(elsewhere.isr_shrinks, 0);
  ASSERT_EQ(story.alter_isr("t", {1, 2, 3}), ErrorCode::none);
  publish();
  EXPECT_EQ(here.isr_expands, 1);
  story.fence(1);
  publish();
  EXPECT_EQ(elsewhere.leaders, 1);
  EXPECT_EQ(elsewhere.isr_shrinks, 1);  // it leads now, without the first
  EXPECT_EQ(elsewhere.unclean_leaders, 0);
}

// Both that were in sync come back without what was not on their disks: the one that led last is elected, and named.
TEST(PartitionChanges, NamesTheElectionOfTheLastKnownLeader) {
  Story story;
  story.start_brokers(2);
  story.create_on("t", {1, 2}, {{"min.insync.replicas", "2"}});
  PartitionChanges here;
  auto before = std::make_shared<Image const>(story.image());
  auto const publish = [&] {
    auto after = std::make_shared<Image const>(story.image());
    Publication const publication{before, after, compare_images(*before, *after)};
    before = after;
    return here.add(publication, BrokerId{1});
  };
  story.fence(1);
  EXPECT_TRUE(publish().empty());  // the other one, which is in sync
  story.fence(2);
  EXPECT_TRUE(publish().empty());  // nobody
  constexpr int64_t kNoSuchEpoch = 1;
  for (uint8_t const id : {1, 2}) ASSERT_TRUE(story.register_broker(id, static_cast<uint8_t>(10 + id), kNoSuchEpoch).error.ok());
  story.beat(1);
  EXPECT_TRUE(publish().empty());  // it did not lead last
  story.beat(2);
  auto const* partition = story.image().find_partition("t", 0);
  EXPECT_EQ(publish(), std::vector({UncleanElection{"t", 0, BrokerId{2}, partition->leader_epoch, true}}));
  EXPECT_EQ(here.unclean_leaders, 1);
}

}  // namespace
}  // namespace millrace::metadata
