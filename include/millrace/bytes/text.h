// Text forms of bytes: base64, and UTF-8 with its malformed parts replaced.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/bytes/view.h"

namespace millrace {

std::string base64(ByteView bytes);  // standard alphabet, padded
Result<std::vector<std::byte>> parse_base64(std::string_view text);

// Whether `text` is UTF-8 as Java reads it: no surrogates, no overlong forms, nothing over U+10FFFF.
bool is_utf8(std::string_view text);
// Each malformed part becomes U+FFFD, in the places where Java's decoder puts it.
std::string replace_malformed_utf8(std::string_view text);
// The same into memory of the caller, of the size that the first one says.
size_t replaced_utf8_bytes(std::string_view text);
void replace_malformed_utf8(std::string_view text, char* out);

}  // namespace millrace
