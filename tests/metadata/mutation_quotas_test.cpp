// The quota controller_mutation_rate: what is above it is refused, or done and made to wait, as the request's version says.
// The figures are those of Kafka 4.4.0 with the same requests.
#include "story.h"

namespace millrace::metadata {
namespace {

constexpr double kRate = 1;  // full: 11 tokens

class MutationQuota : public testing::Test {
 protected:
  MutationQuota() {
    story_.start_brokers(1);
    set_rate({{"client-id", "c"}}, kRate);
  }
  void set_rate(QuotaEntity entity, std::optional<double> rate) {
    AlterClientQuotas request;
    request.entities.push_back({std::move(entity), {{std::string(kControllerMutationRate), rate}}});
    ASSERT_TRUE(story_.ask<AlterClientQuotasAnswer>(request, now_).errors[0].ok());
  }
  MutationAsker asker(bool is_strict) const { return {"u", client_, is_strict}; }

  static std::string text(ErrorCode code) { return fmt::format("{} ", error_name(code)); }
  std::string wait(Mono until) const { return fmt::format("wait {}", to_ms(until - now_)); }

  // The errors of all topics, then how long to wait.
  std::string create(std::vector<std::pair<std::string, int32_t>> topics, bool is_strict, bool validate_only = false) {
    CreateTopics request;
    for (auto const& [name, count] : topics) request.topics.push_back({name, count, 1, {}, {}});
    request.validate_only = validate_only;
    request.asker = asker(is_strict);
    auto const answer = story_.ask<CreateTopicsAnswer>(request, now_);
    std::string out;
    for (auto const& topic : answer.topics) out += text(topic.error.code);
    return out + wait(answer.throttled_until);
  }
  std::string grow(std::string name, int32_t count, bool is_strict, bool validate_only = false) {
    CreatePartitions request;
    request.topics.push_back({std::move(name), count, std::nullopt});
    request.validate_only = validate_only;
    request.asker = asker(is_strict);
    auto const answer = story_.ask<CreatePartitionsAnswer>(request, now_);
    return text(answer.topics[0].second.code) + wait(answer.throttled_until);
  }
  std::string remove(std::vector<std::string> names, bool is_strict) {
    DeleteTopics request;
    for (auto const& name : names) request.ids.push_back(story_.image().find_topic(name)->id);
    request.asker = asker(is_strict);
    auto const answer = story_.ask<DeleteTopicsAnswer>(request, now_);
    std::string out;
    for (auto const& topic : answer.topics) out += text(topic.second.code);
    return out + wait(answer.throttled_until);
  }
  bool has(std::string_view name) const { return story_.image().find_topic(name) != nullptr; }

  Story story_;
  Mono now_ = Mono{} + 1000s;
  std::string client_ = "c";
};

TEST_F(MutationQuota, one_change_may_take_more_than_there_is_and_the_next_is_refused) {
  EXPECT_EQ(create({{"a", 10}}, true), "NONE wait 0");
  EXPECT_EQ(create({{"b", 5}}, true), "NONE wait 0");
  EXPECT_EQ(create({{"c", 1}, {"d", 1}}, true), "THROTTLING_QUOTA_EXCEEDED THROTTLING_QUOTA_EXCEEDED wait 4000");
  EXPECT_FALSE(has("c"));
  EXPECT_EQ(story_.last_record_count(), 0u);
  now_ = now_ + 3500ms;
  EXPECT_EQ(create({{"c", 1}}, true), "THROTTLING_QUOTA_EXCEEDED wait 500");
  now_ = now_ + 500ms;
  EXPECT_EQ(create({{"c", 1}}, true), "NONE wait 0");
}

TEST_F(MutationQuota, older_versions_are_served_and_made_to_wait) {
  EXPECT_EQ(create({{"a", 10}}, false), "NONE wait 0");
  EXPECT_EQ(create({{"b", 2}, {"c", 2}}, false), "NONE NONE wait 3000");
  EXPECT_TRUE(has("c"));
  EXPECT_EQ(create({{"d", 1}}, false), "NONE wait 4000");
}

TEST_F(MutationQuota, a_request_is_refused_from_the_topic_on_that_finds_debt) {
  EXPECT_EQ(create({{"a", 11}, {"b", 1}, {"c", 1}}, true), "NONE NONE THROTTLING_QUOTA_EXCEEDED wait 1000");
  EXPECT_TRUE(has("b"));
  EXPECT_FALSE(has("c"));
}

TEST_F(MutationQuota, counts_partitions_that_are_added_and_deleted) {
  EXPECT_EQ(create({{"a", 2}, {"b", 3}}, true), "NONE NONE wait 0");
  EXPECT_EQ(grow("a", 10, true), "NONE wait 0");
  EXPECT_EQ(grow("b", 4, true), "THROTTLING_QUOTA_EXCEEDED wait 2000");
  EXPECT_EQ(grow("b", 4, false), "NONE wait 3000");
  EXPECT_EQ(remove({"a", "b"}, true), "THROTTLING_QUOTA_EXCEEDED THROTTLING_QUOTA_EXCEEDED wait 3000");
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(remove({"a", "b"}, false), "NONE NONE wait 17000");
  EXPECT_FALSE(has("a"));
}

TEST_F(MutationQuota, what_is_only_validated_counts_and_what_is_wrong_does_not) {
  EXPECT_EQ(create({{"a", 12}}, true, true), "NONE wait 0");
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(create({{"a", 1}}, true, true), "THROTTLING_QUOTA_EXCEEDED wait 1000");
  EXPECT_EQ(create({{"no name", 1}}, true), "INVALID_TOPIC_EXCEPTION wait 0");
  now_ = now_ + 1s;
  EXPECT_EQ(create({{"no name", 100}}, true), "INVALID_TOPIC_EXCEPTION wait 0");
  EXPECT_EQ(create({{"a", 1}}, true), "NONE wait 0");
}

TEST_F(MutationQuota, is_of_an_entity_and_of_nobody_else) {
  EXPECT_EQ(create({{"a", 20}}, true), "NONE wait 0");
  client_ = "other";
  EXPECT_EQ(create({{"b", 100}}, true), "NONE wait 0");
  EXPECT_EQ(create({{"c", 100}}, true), "NONE wait 0");
  story_.create("of-the-node", 1);
  CreateInternalTopic internal{"__consumer_offsets"};
  client_ = "c";
  EXPECT_TRUE(story_.ask<CreateInternalTopicAnswer>(internal, now_).error.ok());
  EXPECT_EQ(create({{"d", 1}}, true), "THROTTLING_QUOTA_EXCEEDED wait 9000");
  set_rate({{"client-id", "c"}}, 3);
  EXPECT_EQ(create({{"d", 1}}, true), "THROTTLING_QUOTA_EXCEEDED wait 3000");
  set_rate({{"client-id", "c"}}, std::nullopt);
  EXPECT_EQ(create({{"d", 1}}, true), "NONE wait 0");
}

TEST(MutationQuotas, keep_a_bounded_number_of_buckets) {
  Image image;
  QuotaMap map;
  map.set(std::string(kControllerMutationRate), 1.0);
  image.quotas.set({{{"client-id", std::nullopt}}}, map);
  MutationQuotas quotas({11, 1s});
  auto const now = Mono{} + 1000s;
  for (size_t i = 0; i < MutationQuotas::kBucketsMax + 10; ++i) {
    std::optional<MutationAsker> const asker = MutationAsker{"u", fmt::format("c{}", i), true};
    MutationQuotas::Request request(quotas, image, asker, now + from_ms(static_cast<int64_t>(i)));
    EXPECT_TRUE(request.take(100).ok());
  }
  EXPECT_EQ(quotas.bucket_count(), MutationQuotas::kBucketsMax);
  // Who asked last is still in debt.
  std::optional<MutationAsker> const asker = MutationAsker{"u", fmt::format("c{}", MutationQuotas::kBucketsMax + 9), true};
  MutationQuotas::Request request(quotas, image, asker, now + 20s);
  EXPECT_FALSE(request.take(1).ok());
}

}  // namespace
}  // namespace millrace::metadata
