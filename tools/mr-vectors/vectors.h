// The parts of mr-vectors: each checks one kind of golden vector and returns what is wrong, or nothing.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::vectors {

using Json = nlohmann::json;

std::string check_message(Json const& vector);    // "m", "v", "c", "j", "h", perhaps "ut"
std::string check_frame(Json const& vector);      // "c": request, response, metadata-record, coordinator-key ...
std::string check_primitive(Json const& vector);  // "c": varint, string-hash, uuid, topic-hash ...

std::vector<std::byte> parse_hex(std::string const& hex);

}  // namespace millrace::vectors
