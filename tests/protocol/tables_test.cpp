// Proves that the tables of APIs, stored records, errors and features are whole and agree with themselves.
#include <gtest/gtest.h>

#include <set>

#include "millrace/protocol/features.h"
#include "millrace/protocol/json.h"
#include "millrace/protocol/records/framing.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::protocol {
namespace {

TEST(Tables, Apis) {
  int16_t key = 0;
  for (auto const& api : all_apis()) {
    EXPECT_EQ(static_cast<int16_t>(api.key), key);
    EXPECT_EQ(find_api(key), &api);
    ++key;
    if (api.request == nullptr) {
      EXPECT_TRUE(api.valid.empty());
      continue;
    }
    EXPECT_TRUE(api.on_broker_listener || api.on_controller_listener) << api.name;
    EXPECT_EQ(api.request().name(), std::string(api.name) + "Request");
    EXPECT_EQ(api.response().name(), std::string(api.name) + "Response");
  }
  EXPECT_EQ(find_api(key), nullptr);
  EXPECT_EQ(find_api(-1), nullptr);
  EXPECT_EQ(fmt::format("{} {}", ApiKey::fetch, static_cast<ApiKey>(999)), "Fetch unknown API");
  EXPECT_EQ(api_info(ApiKey::produce).advertised, between(0, 13));
  EXPECT_EQ(api_info(ApiKey::api_versions).response_header_version(4), 0);
  EXPECT_EQ(api_info(ApiKey::metadata).response_header_version(9), 1);
  EXPECT_EQ(api_info(ApiKey::metadata).response_header_version(8), 0);
}

TEST(Tables, RecordsAreFoundByTheirKey) {
  std::set<std::string_view> names;
  for (auto const& record : all_records()) {
    EXPECT_TRUE(names.insert(record.name).second) << record.name;
    EXPECT_EQ(record.table().name(), record.name);
    if (record.table().key() < 0) continue;
    EXPECT_EQ(find_record(record.log, record.part, record.table().key()), &record);
  }
  EXPECT_EQ(find_record(RecordLog::metadata, RecordPart::body, 6), nullptr);  // a number that Kafka gave up
}

TEST(Tables, Errors) {
  EXPECT_EQ(error_name(ErrorCode::none), "NONE");
  EXPECT_EQ(error_name(ErrorCode::unknown_server_error), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(error_name(static_cast<ErrorCode>(9999)), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(error_name(static_cast<ErrorCode>(-7)), "UNKNOWN_SERVER_ERROR");
  EXPECT_TRUE(error_info(ErrorCode::not_leader_or_follower).is_retriable);
  for (int16_t code = -1; code <= 136; ++code) {
    EXPECT_EQ(static_cast<int16_t>(error_info(static_cast<ErrorCode>(code)).code), code);
  }
}

TEST(Tables, Features) {
  EXPECT_EQ(find_metadata_version("4.4-IV2")->level, kMetadataVersionLatest);
  EXPECT_EQ(find_metadata_version("4.4")->level, kMetadataVersionLatest);
  EXPECT_EQ(find_metadata_version("4.0")->level, 25);
  EXPECT_EQ(find_metadata_version("2.8"), nullptr);
  EXPECT_EQ(find_metadata_version(6), nullptr);
  EXPECT_EQ(find_metadata_version(35), nullptr);
  for (auto const& version : metadata_versions()) EXPECT_EQ(find_metadata_version(version.level), &version);
  EXPECT_EQ(feature_level_latest("transaction.version"), 2);
  EXPECT_EQ(feature_level_latest("metadata.version"), kMetadataVersionLatest);
  EXPECT_EQ(feature_level_latest("no.such"), -1);
}

TEST(Tables, MetadataRecordPrintsAsKafkaDumpsIt) {
  FeatureLevelRecord record;
  record.name = "metadata.version";
  record.feature_level = 33;
  auto const value = encode_metadata_record(record, 0);
  ASSERT_TRUE(value.ok());
  auto const json = metadata_record_to_json(value->view());
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json,
            R"({"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":33}})");
  EXPECT_FALSE(metadata_record_to_json(value->view().first(2)).ok());
}

TEST(Json, RefusesWhatTheVersionDoesNotHave) {
  Arena arena;
  FeatureLevelRecord record;
  EXPECT_TRUE(from_json(R"({"name":"a\u00e9\ud83d\ude00","featureLevel":3})", 0, arena, record).ok());
  EXPECT_EQ(record.name, "aé😀");
  for (auto const* bad : {"", "{", "{}", R"({"name":"a"})", R"({"name":"a","featureLevel":3,"more":1})",
                          R"({"name":"a","featureLevel":40000})", R"({"name":"a","featureLevel":1.5})",
                          R"({"name":null,"featureLevel":1})", R"({"name":"a","featureLevel":3} x)",
                          R"({"name":"a","name":"a","featureLevel":3})"}) {
    EXPECT_FALSE(from_json(bad, 0, arena, record).ok()) << bad;
  }
}

}  // namespace
}  // namespace millrace::protocol
