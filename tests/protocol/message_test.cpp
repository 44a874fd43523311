// Proves the use of message.h by a broker: a request is read out of its frame without copying, record bytes stay where
// they are, a response leaves room for record bytes that are sent from elsewhere, and malformed input is refused before
// anything is allocated for it.
#include "millrace/protocol/message.h"

#include <gtest/gtest.h>

#include "millrace/protocol/api/api_versions.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/metadata.h"
#include "millrace/protocol/api/produce.h"

namespace millrace::protocol {
namespace {

SharedBytes produce_frame(Arena& arena, int16_t version) {
  ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 1500;
  request.topic_data = arena.array<ProduceRequest::TopicProduceData>(1);
  request.topic_data[0].name = "orders";
  request.topic_data[0].partition_data = arena.array<ProduceRequest::PartitionProduceData>(2);
  request.topic_data[0].partition_data[1].index = 1;
  request.topic_data[0].partition_data[1].records = as_bytes("batch");
  auto frame = encode_request(77, "client", version, request);
  EXPECT_TRUE(frame.ok());
  return std::move(frame).value();
}

TEST(Message, ProduceIsReadInPlace) {
  Arena arena;
  for (int16_t version = 3; version <= 12; ++version) {
    auto const frame = produce_frame(arena, version);
    Reader in(frame.view().subspan(4));
    RequestHeader header;
    ASSERT_TRUE(decode_request_header(in, arena, header));
    EXPECT_EQ(header.correlation_id, 77);
    EXPECT_EQ(header.client_id, "client");
    ProduceRequest request;
    ASSERT_TRUE(decode(in, header.request_api_version, arena, request));
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_EQ(request.transactional_id, std::nullopt);
    ASSERT_EQ(request.topic_data.size(), 1u);
    EXPECT_EQ(request.topic_data[0].name, "orders");
    auto& partitions = request.topic_data[0].partition_data;
    ASSERT_EQ(partitions.size(), 2u);
    EXPECT_TRUE(partitions[0].records.is_null());
    EXPECT_EQ(as_text(partitions[1].records.view()), "batch");
    partitions[1].records.mutable_view()[0] = std::byte{'B'};
    EXPECT_NE(as_text(frame.view()).find("Batch"), std::string_view::npos);
  }
}

TEST(Message, FetchLeavesRoomForRegions) {
  Arena arena;
  FetchResponse response;
  response.responses = arena.array<FetchResponse::FetchableTopicResponse>(1);
  response.responses[0].partitions = arena.array<FetchResponse::PartitionData>(3);
  response.responses[0].partitions[0].records = Records::slot(1000, 7);
  response.responses[0].partitions[1].records = Records(as_bytes("inline"));
  response.responses[0].partitions[2].records = Records::slot(70, 8);
  for (int16_t version = 4; version <= 18; ++version) {
    auto encoded = encode_response(5, version, response);
    ASSERT_TRUE(encoded.ok());
    std::string sent;
    encoded->for_each_piece(
        [&](SharedBytes const& bytes) { sent += as_text(bytes.view()); },
        [&](RecordSlot const& slot) { sent += std::string(slot.bytes, static_cast<char>('a' + slot.index)); });
    ASSERT_EQ(sent.size(), encoded->total_bytes);
    Reader in(as_bytes(sent));
    EXPECT_EQ(static_cast<size_t>(in.i32()), sent.size() - 4);
    EXPECT_EQ(in.i32(), 5);
    if (version >= 12) {
      EXPECT_EQ(in.uvarint(), 0u);
    }
    FetchResponse back;
    ASSERT_TRUE(decode(in, version, arena, back));
    EXPECT_EQ(in.remaining(), 0u);
    auto const& partitions = back.responses[0].partitions;
    EXPECT_EQ(as_text(partitions[0].records.view()), std::string(1000, 'h'));
    EXPECT_EQ(as_text(partitions[1].records.view()), "inline");
    EXPECT_EQ(as_text(partitions[2].records.view()), std::string(70, 'i'));
  }
}

TEST(Message, CountIsCheckedBeforeAllocation) {
  Arena arena;
  std::byte const huge[] = {std::byte{0x7f}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  Reader in(huge);
  MetadataRequest request;
  auto const status = decode(in, 1, arena, request);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::invalid);
  EXPECT_EQ(arena.allocated_bytes(), 0u);
}

TEST(Message, ArenaLimitRefuses) {
  Arena builder;
  MetadataRequest request;
  request.topics = builder.array<MetadataRequest::MetadataRequestTopic>(1000);
  for (auto& topic : request.topics) topic.name = "t";
  auto const body = encode_body(request, 1);
  ASSERT_TRUE(body.ok());
  Arena small(4096);
  Reader in(body->view());
  MetadataRequest back;
  auto const status = decode(in, 1, small, back);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::limit);
  EXPECT_LE(small.allocated_bytes(), 4096u);
}

// A frame of small elements needs more memory than its size; only a well-formed one gets it.
TEST(Message, RefusedFrameCostsNoMoreThanItsSize) {
  Arena builder;
  MetadataRequest request;
  request.topics = builder.array<MetadataRequest::MetadataRequestTopic>(20'000);
  for (auto& topic : request.topics) topic.name = "t";
  auto const body = encode_body(request, 1);
  ASSERT_TRUE(body.ok());

  Arena arena;
  Reader whole(body->view());
  MetadataRequest back;
  ASSERT_TRUE(decode(whole, 1, arena, back));
  EXPECT_EQ(back.topics.size(), 20'000u);
  EXPECT_EQ(back.topics[19'999].name, "t");
  EXPECT_GT(arena.allocated_bytes(), body->size() + 16 * 1024);

  Arena for_broken;
  Reader cut(body->view().first(body->size() - 1));
  MetadataRequest broken;
  auto const status = decode(cut, 1, for_broken, broken);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::invalid);
  EXPECT_LE(for_broken.allocated_bytes(), body->size() + 16 * 1024);
}

// Each malformed byte becomes three: text can grow past the frame that carried it.
TEST(Message, RepairedTextIsPartOfTheAllowance) {
  std::string const bad(30'000, '\xff');
  Arena builder;
  MetadataRequest request;
  request.topics = builder.array<MetadataRequest::MetadataRequestTopic>(2);
  for (auto& topic : request.topics) topic.name = bad;
  auto const body = encode_body(request, 1);
  ASSERT_TRUE(body.ok());

  Arena arena;
  Reader whole(body->view());
  MetadataRequest back;
  ASSERT_TRUE(decode(whole, 1, arena, back));
  EXPECT_EQ(back.topics[1].name->size(), 90'000u);
  EXPECT_EQ(back.topics[1].name->substr(0, 3), "\xef\xbf\xbd");

  Arena for_broken;
  Reader cut(body->view().first(body->size() - 1));
  MetadataRequest broken;
  EXPECT_FALSE(decode(cut, 1, for_broken, broken).ok());
  EXPECT_LE(for_broken.allocated_bytes(), body->size() + 16 * 1024);
}

TEST(Message, FieldThatAVersionLacksIsRefusedUnlessIgnorable) {
  Arena arena;
  FetchRequest request;
  request.rack_id = "rack";  // since 11, ignorable
  EXPECT_TRUE(encode_body(request, 4).ok());
  request.forgotten_topics_data = arena.array<FetchRequest::ForgottenTopic>(1);  // since 7, not ignorable
  EXPECT_TRUE(encode_body(request, 7).ok());
  auto const refused = encode_body(request, 6);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

TEST(Message, NullWhereNoneMayBe) {
  Arena arena;
  ProduceRequest request;
  request.topic_data = kNullArray;
  EXPECT_FALSE(encode_body(request, 9).ok());
  // transactional id null, acks, timeout, then a null array
  std::byte const bytes[] = {std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0},
                             std::byte{0}, std::byte{9}, std::byte{0}, std::byte{0}};
  Reader in(bytes);
  EXPECT_FALSE(decode(in, 9, arena, request).ok());
}

TEST(Message, ApiVersionsIsReadAtAnyVersion) {
  Arena arena;
  ApiVersionsRequest request;
  auto frame = encode_request(1, "future", 3, request);
  ASSERT_TRUE(frame.ok());
  frame->mutable_view()[7] = std::byte{99};
  Reader in(frame->view().subspan(4));
  RequestHeader header;
  ASSERT_TRUE(decode_request_header(in, arena, header));
  EXPECT_EQ(header.request_api_version, 99);
  EXPECT_EQ(header.client_id, "future");
  frame->mutable_view()[5] = std::byte{3};  // Metadata has no version 99
  Reader again(frame->view().subspan(4));
  EXPECT_FALSE(decode_request_header(again, arena, header));
}

}  // namespace
}  // namespace millrace::protocol
