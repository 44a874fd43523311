// Fetch sessions: epochs are checked, differences are applied, answers mention only what changed, the cache stays
// within its limits and evicts as Kafka does.
#include <gtest/gtest.h>

#include "millrace/broker/fetch_sessions.h"

namespace millrace::broker {
namespace {

FetchItem item(std::string topic, int32_t partition, int64_t offset = 0) {
  FetchItem out;
  out.topic = std::move(topic);
  out.partition = partition;
  out.offset = Offset(offset);
  return out;
}

class Sessions : public testing::Test {
 protected:
  FetchSessions sessions{3, Random(7)};
  Mono now{1000s};

  int32_t make(std::vector<FetchItem> asked, bool is_follower = false) {
    std::vector<FetchTold> told(asked.size(), FetchTold{10, 0});
    return sessions.create(std::move(asked), told, false, is_follower, now);
  }
  ErrorCode update(int32_t id, int32_t epoch, std::vector<FetchItem> changed = {}, std::vector<FetchItem> forgotten = {}) {
    items.clear();
    return sessions.update(id, epoch, false, std::move(changed), forgotten, now, items);
  }
  std::string list() const {
    std::string out;
    for (auto const& i : items) out += fmt::format("{}-{}@{} ", i.topic, i.partition, i.offset);
    return out;
  }
  std::vector<FetchItem> items;
};

}  // namespace

TEST_F(Sessions, an_incremental_fetch_must_name_the_next_epoch) {
  auto const id = make({item("a", 0), item("a", 1)});
  ASSERT_NE(id, kNoSession);
  EXPECT_EQ(update(id + 1, 1), ErrorCode::fetch_session_id_not_found);
  EXPECT_EQ(update(id, 2), ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(update(id, 1), ErrorCode::none);
  EXPECT_EQ(list(), "a-0@0 a-1@0 ");
  EXPECT_EQ(update(id, 1), ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(update(id, 2), ErrorCode::none);
  std::vector<FetchItem> none;
  EXPECT_EQ(sessions.update(id, 3, true, {}, {}, now, none), ErrorCode::fetch_session_topic_id_error);
  sessions.remove(id);
  EXPECT_EQ(update(id, 3), ErrorCode::fetch_session_id_not_found);
}

TEST_F(Sessions, a_request_adds_moves_and_forgets) {
  auto const id = make({item("a", 0), item("a", 1)});
  EXPECT_EQ(update(id, 1, {item("a", 1, 5), item("b", 0, 2)}, {item("a", 0)}), ErrorCode::none);
  EXPECT_EQ(list(), "a-1@5 b-0@2 ");
  EXPECT_EQ(sessions.partition_count(), 2u);
}

TEST_F(Sessions, an_answer_tells_what_changed_and_serves_the_fed_last) {
  auto const id = make({item("a", 0), item("a", 1), item("a", 2)});
  auto const answer = [&](int32_t epoch, std::vector<FetchSessions::Answered> answered) {
    std::vector<bool> told;
    EXPECT_EQ(sessions.answer(id, epoch, answered, told), ErrorCode::none);
    return told;
  };
  ASSERT_EQ(update(id, 1), ErrorCode::none);
  auto const first = items;
  EXPECT_EQ(answer(1, {{&first[0], {10, 0}, true}, {&first[1], {11, 0}}, {&first[2], {10, 0}}}),
            (std::vector<bool>{true, true, false}));
  ASSERT_EQ(update(id, 2), ErrorCode::none);
  EXPECT_EQ(list(), "a-1@0 a-2@0 a-0@0 ");
  // An error is told each time, and so is the first good answer after it.
  EXPECT_EQ(answer(2, {{&first[2], {-1, -1}, false, true}}), (std::vector<bool>{true}));
  ASSERT_EQ(update(id, 3), ErrorCode::none);
  EXPECT_EQ(answer(3, {{&first[2], {10, 0}}, {&first[1], {11, 0}}}), (std::vector<bool>{true, false}));
  ASSERT_EQ(update(id, 4), ErrorCode::none);
  EXPECT_EQ(answer(4, {{&first[2], {10, 3}}}), (std::vector<bool>{true}));
  std::vector<bool> told;
  EXPECT_EQ(sessions.answer(id, 2, {}, told), ErrorCode::invalid_fetch_session_epoch);
}

TEST_F(Sessions, the_cache_is_bounded) {
  auto const old = make({item("a", 0)});
  now = now + 1s;
  auto const second = make({item("a", 0), item("a", 1)});
  auto const third = make({item("a", 0), item("a", 1), item("a", 2)});
  ASSERT_NE(third, kNoSession);
  // Nobody is stale and nobody is old enough to give way to a larger one.
  EXPECT_EQ(make({item("b", 0), item("b", 1)}), kNoSession);
  EXPECT_EQ(sessions.session_count(), 3u);
  // A follower's session comes before a consumer's.
  auto const follower = make({item("b", 0)}, true);
  EXPECT_NE(follower, kNoSession);
  EXPECT_EQ(update(old, 1), ErrorCode::fetch_session_id_not_found);
  now = now + FetchSessions::kEvictionAge + 1s;
  ASSERT_EQ(update(third, 1), ErrorCode::none);
  ASSERT_EQ(update(follower, 1), ErrorCode::none);
  EXPECT_NE(make({item("c", 0)}), kNoSession);
  EXPECT_EQ(update(second, 1), ErrorCode::fetch_session_id_not_found);
  EXPECT_EQ(sessions.session_count(), 3u);
}

}  // namespace millrace::broker
