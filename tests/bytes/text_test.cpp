// Proves that malformed UTF-8 is replaced where Java's decoder replaces it, and base64 both ways.
#include "millrace/bytes/text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::string_view kBad = "\xef\xbf\xbd";

TEST(Text, Utf8) {
  for (std::string_view good :
       {"", "a", "plain ASCII text of some length", "é漢😀", "\xf4\x8f\xbf\xbf", "\xef\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good));
    EXPECT_EQ(replace_malformed_utf8(good), good);
  }
  struct Case {
    std::string_view text;
    std::string_view pattern;  // ? for a replacement
  };
  for (auto const& [text, pattern] :
       {Case{"\xff\xfe", "??"}, Case{"a\x80z", "a?z"}, Case{"\xc0\xaf", "??"}, Case{"\xe6\xbc", "?"},
        Case{"\xe6\xbcz", "?z"}, Case{"\xe0\x80\x80", "???"}, Case{"\xed\xa0\x80", "?"}, Case{"\xed\xa0z", "?z"},
        Case{"\xf0\x9f\x98", "?"}, Case{"\xf0\x80\x80\x80", "????"}, Case{"\xf4\x90\x80\x80", "????"},
        Case{"01234567\xff", "01234567?"}}) {
    EXPECT_FALSE(is_utf8(text));
    std::string expected;
    for (auto const c : pattern) expected += c == '?' ? kBad : std::string_view(&c, 1);
    EXPECT_EQ(replace_malformed_utf8(text), expected) << pattern;
  }
}

TEST(Text, Base64) {
  struct Case {
    std::string_view bytes, text;
  };
  for (auto const& [bytes, text] :
       {Case{"", ""}, Case{"f", "Zg=="}, Case{"fo", "Zm8="}, Case{"foo", "Zm9v"}, Case{"\xfb\xff\xfe", "+//+"}}) {
    EXPECT_EQ(base64(as_bytes(bytes)), text);
    auto const parsed = parse_base64(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(as_text(*parsed), bytes);
  }
  for (std::string_view bad : {"Z", "Zg=", "Zg==Zg==", "Zm9-", "===="}) EXPECT_FALSE(parse_base64(bad).ok()) << bad;
}

}  // namespace
}  // namespace millrace
