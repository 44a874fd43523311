// Proves that record bytes of every format, codec and kind of damage read as Kafka 4.4 reads them, stage and error code
// included, and that batches build again to the bytes that Kafka wrote.
#include <gtest/gtest.h>

#include "batches.h"
#include "vector_file.h"

namespace millrace {
namespace {

std::string const kVectors = MR_TEST_DATA "/vectors/batches.jsonl.gz";

TEST(BatchVectors, ReadAndBuildAsKafkaDoes) {
  auto const lines = lines_of(kVectors);
  ASSERT_GT(lines.size(), 100u);
  CodecContext context;
  for (auto const& line : lines) EXPECT_EQ(vectors::check_batches_line(line, context), "");
}

TEST(BatchVectors, TheCheckCanFail) {
  CodecContext context;
  int tried = 0;
  for (auto const& line : lines_of(kVectors)) {
    if (line.at("c") != "v2-none-idempotent") continue;
    ++tried;
    auto wrong = line;
    wrong["batches"][0]["records"][1]["value"] = "AAAA";
    EXPECT_NE(vectors::check_batches_line(wrong, context), "");
    wrong = line;
    wrong["error"] = {{"at", "records"}, {"class", "InvalidRecordException"}, {"code", 87}};
    EXPECT_NE(vectors::check_batches_line(wrong, context), "");
    wrong = line;
    auto& hex = wrong["h"].get_ref<std::string&>();
    hex.back() = hex.back() == '0' ? '1' : '0';
    EXPECT_NE(vectors::check_batches_line(wrong, context), "");
  }
  EXPECT_EQ(tried, 1);
}

}  // namespace
}  // namespace millrace
