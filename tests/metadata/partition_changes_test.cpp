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

}  // namespace
}  // namespace millrace::metadata
