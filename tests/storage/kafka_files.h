// Data directories that Kafka 4.4 wrote (tests/data/logdirs), unpacked into a simulated disk.
#pragma once
#include <cstdio>
#include <map>
#include <memory>

#include "fixture.h"
#include "millrace/bytes/codec.h"

namespace millrace::storage {

inline std::string read_host_file(std::string const& path) {
  std::string out;
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  EXPECT_TRUE(file) << path;
  if (!file) return out;
  char block[65536];
  while (auto const got = std::fread(block, 1, sizeof block, file.get())) out.append(block, got);
  return out;
}

// Path below the data directory -> content.
inline std::map<std::string, std::string> kafka_files(std::string const& name) {
  auto const packed = read_host_file(std::string(MR_TEST_DATA) + "/logdirs/" + name + ".tar.gz");
  CodecContext context;
  std::vector<std::byte> tar;
  EXPECT_TRUE(decompress(Codec::gzip, as_bytes(packed), {}, context, tar).ok());
  std::map<std::string, std::string> out;
  auto const text = as_text(tar);
  for (size_t at = 0; at + 512 <= text.size();) {
    auto const header = text.substr(at, 512);
    std::string path(header.substr(0, 100).data());
    if (path.empty()) break;
    auto const size = std::strtoull(std::string(header.substr(124, 12)).c_str(), nullptr, 8);
    at += 512;
    if (header[156] == '0') out[path.starts_with("./") ? path.substr(2) : path] = std::string(text.substr(at, size));
    at += (size + 511) / 512 * 512;
  }
  EXPECT_GE(out.size(), 100u);
  return out;
}

// A machine whose /data is that directory.
struct KafkaMachine : Machine {
  explicit KafkaMachine(std::string const& name) : files_of_kafka(kafka_files(name)) {
    image.erase("/data/.exists");
    for (auto const& [path, content] : files_of_kafka) {
      if (path != "expected.json") image.place("/data/" + path, content);
    }
  }
  std::map<std::string, std::string> files_of_kafka;
};

}  // namespace millrace::storage
