// Which SCRAM credentials may be set and removed, and what is recorded of them.
#include <gtest/gtest.h>

#include "millrace/bytes/text.h"
#include "millrace/metadata/controller.h"
#include "millrace/metadata/replay.h"
#include "millrace/metadata/scram.h"
#include "millrace/metadata/snapshot.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

class ControllerScram : public testing::Test {
 protected:
  ControllerScram() : controller_({}, [] { return Uuid{{7}}; }) { set_metadata_version(kMetadataVersionWithScram); }

  void set_metadata_version(int16_t level) {
    protocol::FeatureLevelRecord r;
    r.name = "metadata.version";
    r.feature_level = level;
    RecordList records;
    records.add(r, 0);
    replay(records, replayer_);
  }
  static void replay(RecordList const& records, Replayer& into) {
    for (auto const& value : records.values()) {
      EXPECT_TRUE(into.apply(value.view(), into.image().offset + 1, LeaderEpoch{1}, 0));
    }
  }
  static ScramUpsertion upsertion(std::string user, int32_t iterations, int8_t mechanism = 1) {
    return {{std::move(user), mechanism}, {"salt", "stored", "server", iterations}};
  }
  // "user code" of each in the answer's order.
  std::string alter(std::vector<ScramKey> deletions, std::vector<ScramUpsertion> upsertions) {
    AlterUserScramCredentials const request{std::move(deletions), std::move(upsertions)};
    auto const decision = controller_.decide(replayer_.image(), ControllerRequest(request), {});
    EXPECT_TRUE(decision.is_atomic);
    replay(decision.records, replayer_);
    std::string out;
    for (auto const& [user, error] : std::get<AlterUserScramCredentialsAnswer>(decision.answer).users) {
      out += fmt::format("{} {}, ", user, error_name(error.code));
    }
    return out;
  }
  std::string present() const {
    std::string out;
    replayer_.image().scram.for_each([&](ScramKey const& key, ScramImage const& credential) {
      out += fmt::format("{}/{} {}, ", key.user, key.mechanism, credential.iterations);
    });
    return out;
  }

  Replayer replayer_;
  Controller controller_;
};

TEST_F(ControllerScram, are_set_replaced_and_removed) {
  EXPECT_EQ(alter({}, {upsertion("a", 4096), upsertion("b", 16384, 2)}), "a NONE, b NONE, ");
  EXPECT_EQ(alter({}, {upsertion("a", 8192, 2)}), "a NONE, ");
  EXPECT_EQ(alter({}, {upsertion("a", 5000)}), "a NONE, ");
  EXPECT_EQ(present(), "a/1 5000, a/2 8192, b/2 16384, ");
  EXPECT_EQ(alter({{"a", 1}}, {upsertion("c", 4096)}), "a NONE, c NONE, ");
  EXPECT_EQ(present(), "a/2 8192, b/2 16384, c/1 4096, ");
  auto const* kept = replayer_.image().scram.find(ScramKey{"c", 1});
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(*kept, (ScramImage{"salt", "stored", "server", 4096}));
}

TEST_F(ControllerScram, are_in_snapshots) {
  alter({}, {upsertion("a", 4096), upsertion("b", 16384, 2)});
  Replayer other;
  replay(snapshot_records(replayer_.image()), other);
  std::string names;
  other.image().scram.for_each([&](ScramKey const& key, ScramImage const& credential) {
    names += key.user;
    EXPECT_EQ(credential, *replayer_.image().scram.find(key));
  });
  EXPECT_EQ(names, "ab");
}

TEST_F(ControllerScram, are_refused) {
  EXPECT_EQ(alter({}, {upsertion("", 4096)}), " UNACCEPTABLE_CREDENTIAL, ");
  EXPECT_EQ(alter({}, {upsertion("", 4096, 7)}), " UNACCEPTABLE_CREDENTIAL, ");
  EXPECT_EQ(alter({}, {upsertion("a", 4095)}), "a UNACCEPTABLE_CREDENTIAL, ");
  EXPECT_EQ(alter({}, {upsertion("a", 16385)}), "a UNACCEPTABLE_CREDENTIAL, ");
  EXPECT_EQ(alter({}, {upsertion("a", 1, 7)}), "a UNSUPPORTED_SASL_MECHANISM, ");
  EXPECT_EQ(alter({}, {upsertion("a", 4096, 0)}), "a UNSUPPORTED_SASL_MECHANISM, ");
  auto without_password = upsertion("a", 4096);
  without_password.credential.stored_key.clear();
  EXPECT_EQ(alter({}, {without_password}), "a UNKNOWN_SERVER_ERROR, ");
  EXPECT_EQ(alter({{"a", 1}, {"b", 9}, {"", 1}}, {}),
            " UNACCEPTABLE_CREDENTIAL, a RESOURCE_NOT_FOUND, b UNSUPPORTED_SASL_MECHANISM, ");
  EXPECT_EQ(present(), "");
}

TEST_F(ControllerScram, of_a_user_change_once_in_a_request) {
  alter({}, {upsertion("a", 4096), upsertion("b", 4096)});
  EXPECT_EQ(alter({}, {upsertion("a", 5000), upsertion("a", 6000, 2), upsertion("b", 7000)}),
            "b NONE, a DUPLICATE_RESOURCE, ");
  EXPECT_EQ(alter({{"a", 1}}, {upsertion("a", 5000)}), "a DUPLICATE_RESOURCE, ");
  EXPECT_EQ(alter({{"a", 1}, {"a", 2}}, {}), "a DUPLICATE_RESOURCE, ");
  EXPECT_EQ(present(), "a/1 4096, b/1 7000, ");
  // The first thing that is wrong with a user stays what is told.
  EXPECT_EQ(alter({{"nobody", 1}}, {upsertion("nobody", 5000)}), "nobody RESOURCE_NOT_FOUND, ");
  EXPECT_EQ(alter({{"a", 2}, {"a", 1}}, {}), "a RESOURCE_NOT_FOUND, ");
}

TEST_F(ControllerScram, need_a_metadata_version_that_knows_them) {
  set_metadata_version(kMetadataVersionWithScram - 1);
  EXPECT_EQ(alter({{"b", 1}}, {upsertion("a", 1)}), "a UNSUPPORTED_VERSION, b UNSUPPORTED_VERSION, ");
}

// The example of RFC 7677, and PostgreSQL's keys of it.
TEST(ScramKeys, are_those_of_the_salted_password) {
  auto const hex = [](std::string const& bytes) {
    std::string out;
    for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
    return out;
  };
  std::string salted("\xc4\xa4\x95\x10\x32\x3a\xb4\xf9\x52\xca\xc1\xfa\x99\x44\x19\x39"
                     "\xe7\x8e\xa7\x4d\x6b\xe8\x1d\xdf\x70\x96\xe8\x75\x13\xdc\x61\x5d", 32);
  auto const keys = scram_keys(*find_scram_mechanism(1), as_bytes(salted));
  EXPECT_EQ(hex(keys.stored_key), "586e5df283e6dceb5c3e791d8b8528ec191e664045ce971792e2e6b5bb13e2a6");
  EXPECT_EQ(hex(keys.server_key), "c1f3cbc1c13a9d35a14c0990eed97629ea225863e566a4314ab99f3f00e5d9d5");
  EXPECT_EQ(scram_keys(*find_scram_mechanism(2), as_bytes(salted)).stored_key.size(), 64u);
  EXPECT_EQ(find_scram_mechanism(0), nullptr);
  EXPECT_EQ(find_scram_mechanism(3), nullptr);
}

}  // namespace
}  // namespace millrace::metadata
