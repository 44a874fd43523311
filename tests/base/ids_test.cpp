// Ids print and parse as Kafka does.
#include <gtest/gtest.h>

#include "millrace/base/ids.h"

namespace millrace {

TEST(Uuid, text_form_round_trips) {
  Uuid id;
  for (size_t i = 0; i < 16; ++i) id.bytes[i] = static_cast<uint8_t>(i * 17);
  auto parsed = Uuid::parse(id.text());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->bytes, id.bytes);
  EXPECT_EQ(Uuid{}.text(), "AAAAAAAAAAAAAAAAAAAAAA");
}

TEST(Uuid, refuses_other_text) {
  EXPECT_FALSE(Uuid::parse("short").ok());
  EXPECT_FALSE(Uuid::parse("AAAAAAAAAAAAAAAAAAAA+A").ok());
}

}  // namespace millrace
