// Proves that every message and stored record, at every version, is read and written byte for byte as Kafka 4.4's own
// serializers do it, with frames, record framing, varints and hashes; and that the check would notice a difference.
#include <gtest/gtest.h>

#include "vector_file.h"
#include "vectors.h"

namespace millrace::vectors {
namespace {

std::vector<Json> lines(std::string const& name) { return lines_of(MR_TEST_DATA "/vectors/" + name + ".jsonl.gz"); }

template <class Check>
void check_all(std::string const& name, size_t count_min, Check check) {
  auto const all = lines(name);
  ASSERT_GE(all.size(), count_min);
  for (auto const& vector : all) ASSERT_EQ(check(vector), "") << vector.dump().substr(0, 200);
}

TEST(Vectors, Messages) { check_all("api.vectors", 4000, check_message); }
TEST(Vectors, Records) { check_all("records.vectors", 800, check_message); }
TEST(Vectors, Frames) { check_all("frames", 100, check_frame); }
TEST(Vectors, Primitives) { check_all("primitives", 70, check_primitive); }
TEST(Vectors, GroupHash) { check_all("group-hash", 15, check_primitive); }

TEST(Vectors, TheCheckCanFail) {
  size_t tried = 0;
  for (auto const& vector : lines("api.vectors")) {
    if (vector.at("c") != "full" || ++tried % 20 != 0) continue;
    auto longer = vector;
    longer["h"].get_ref<std::string&>() += "00";
    EXPECT_NE(check_message(longer), "");
    auto shorter = vector;
    shorter["h"].get_ref<std::string&>().resize(vector.at("h").get_ref<std::string const&>().size() - 2);
    EXPECT_NE(check_message(shorter), "");
    auto other = vector;
    other["j"]["notThere"] = 1;
    EXPECT_NE(check_message(other), "");
    auto first = vector;
    if (first["j"].empty()) continue;
    first["j"].erase(first["j"].begin());
    EXPECT_NE(check_message(first), "");
  }
  EXPECT_GT(tried, 500u);
}

}  // namespace
}  // namespace millrace::vectors
