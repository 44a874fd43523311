// Writes a history file (history_file.h). One thread at a time.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "chaos/history_file.h"

namespace millrace::chaos {

inline int64_t now_nanos() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class HistoryWriter {
 public:
  HistoryWriter(char const* path, uint32_t client) : file_(std::fopen(path, "wb")) {
    if (file_ == nullptr) {
      std::perror(path);
      std::exit(1);
    }
    std::setvbuf(file_, nullptr, _IOFBF, 1 << 16);
    write(FileHeader{{'M', 'R', 'H', 'I', 'S', 'T', '0', '1'}, client, 0});
  }

  ~HistoryWriter() {
    if (std::fclose(file_) != 0) std::exit(1);
  }
  HistoryWriter(HistoryWriter const&) = delete;
  HistoryWriter& operator=(HistoryWriter const&) = delete;

  template <class Row>
  void write(Row const& row) {
    if (std::fwrite(&row, sizeof row, 1, file_) != 1) std::exit(1);
  }

  void write(PollRow poll, std::vector<RecordRow> const& records) {
    poll.count = static_cast<uint32_t>(records.size());
    write(poll);
    for (auto const& record : records) write(record);
  }

 private:
  std::FILE* file_;
};

}  // namespace millrace::chaos
