// Which client quotas may be set, and what is recorded of them.
#include <gtest/gtest.h>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/replay.h"

namespace millrace::metadata {
namespace {

class ControllerQuotas : public testing::Test {
 protected:
  ControllerQuotas() : controller_({}, [] { return Uuid{{7}}; }) {}

  ErrorCode alter(QuotaEntity entity, std::vector<QuotaChange> changes, bool validate_only = false) {
    AlterClientQuotas request;
    request.entities.push_back({std::move(entity), std::move(changes)});
    request.validate_only = validate_only;
    auto const decision = controller_.decide(replayer_.image(), ControllerRequest(request), {});
    record_count_ = decision.records.size();
    for (auto const& value : decision.records.values()) {
      EXPECT_TRUE(replayer_.apply(value.view(), replayer_.image().offset + 1, LeaderEpoch{1}, 0));
    }
    return std::get<AlterClientQuotasAnswer>(decision.answer).errors[0].code;
  }
  std::string quotas(QuotaEntity entity) const {
    std::string out;
    if (auto const* found = replayer_.image().quotas.find(QuotaEntityKey{std::move(entity)})) {
      found->for_each([&](auto const& key, double value) { out += fmt::format("{}={} ", key, value); });
    }
    return out;
  }

  QuotaEntity const user_{{"user", "u"}};
  size_t record_count_ = 0;
  Replayer replayer_;
  Controller controller_;
};

TEST_F(ControllerQuotas, are_set_and_removed) {
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", 1000}, {"request_percentage", 50.5}}), ErrorCode::none);
  EXPECT_EQ(quotas(user_), "producer_byte_rate=1000 request_percentage=50.5 ");
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", 1000}}), ErrorCode::none);
  EXPECT_EQ(record_count_, 0u);
  EXPECT_EQ(alter(user_, {{"consumer_byte_rate", 5}}, true), ErrorCode::none);
  EXPECT_EQ(alter(user_, {{"consumer_byte_rate", std::nullopt}}), ErrorCode::none);
  EXPECT_EQ(record_count_, 0u);
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", std::nullopt}, {"request_percentage", std::nullopt}}),
            ErrorCode::none);
  EXPECT_EQ(quotas(user_), "");
  EXPECT_EQ(alter({{"client-id", std::nullopt}, {"user", std::nullopt}}, {{"consumer_byte_rate", 7}}), ErrorCode::none);
  EXPECT_EQ(quotas({{"client-id", std::nullopt}, {"user", std::nullopt}}), "consumer_byte_rate=7 ");
}

TEST_F(ControllerQuotas, are_refused) {
  auto const refused = ErrorCode::invalid_request;
  EXPECT_EQ(alter({}, {{"producer_byte_rate", 1}}), refused);
  EXPECT_EQ(alter({{"group", "u"}}, {{"producer_byte_rate", 1}}), refused);
  EXPECT_EQ(alter({{"user", ""}}, {{"producer_byte_rate", 1}}), refused);
  EXPECT_EQ(alter(user_, {{"nope", 1}}), refused);
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", 1.5}}), refused);
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", 0}}), refused);
  EXPECT_EQ(alter(user_, {{"producer_byte_rate", -1}}), refused);
  EXPECT_EQ(alter({{"ip", "1.2.3.4"}, {"user", "u"}}, {{"producer_byte_rate", 1}}), refused);
  EXPECT_EQ(alter({{"ip", "1.2.3.4"}}, {{"producer_byte_rate", 1}}), refused);
  EXPECT_EQ(alter({{"ip", "no such host!"}}, {{"connection_creation_rate", 1}}), refused);
  EXPECT_EQ(alter({{"ip", "1.2.3.4"}}, {{"connection_creation_rate", 10}}), ErrorCode::none);
  EXPECT_EQ(alter({{"ip", std::nullopt}}, {{"connection_creation_rate", 10}}), ErrorCode::none);
}

}  // namespace
}  // namespace millrace::metadata
