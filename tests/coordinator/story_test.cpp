// The classic group machine as stories: tests/data/coordinator/*.story. A line that begins with "> " is an event; the
// lines below it are all that it caused (answers, records) and the groups after it, compared whole. A first line
// "config name=value ..." sets the node's settings. Proves the rules of each request, the rebalance's phases and
// timeouts, what a refused append leaves behind, and that the log is the state.
// With MR_STORIES_WRITE set the files are written instead: read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "story.h"

namespace millrace::coordinator {
namespace {

GroupConfig config_of(std::string const& line) {
  GroupConfig config;
  config.initial_rebalance_delay = 0s;
  std::stringstream in(line);
  std::string word;
  in >> word;
  while (in >> word) {
    auto const at = word.find('=');
    auto const name = word.substr(0, at);
    auto const value = std::stoll(word.substr(at + 1));
    if (name == "initial-delay")
      config.initial_rebalance_delay = from_ms(value);
    else if (name == "max-size")
      config.member_count_max = static_cast<int32_t>(value);
    else if (name == "metadata-max")
      config.offset_metadata_max = static_cast<int32_t>(value);
    else if (name == "retention")
      config.offsets_retention = from_ms(value);
    else if (name == "check")
      config.offsets_retention_check = from_ms(value);
    else
      ADD_FAILURE() << name;
  }
  return config;
}

class Stories : public testing::TestWithParam<std::string> {};

std::vector<std::string> all_stories() {
  std::vector<std::string> out;
  for (auto const& file : std::filesystem::directory_iterator(MR_TEST_DATA "/coordinator")) {
    if (file.path().extension() == ".story") out.push_back(file.path().stem());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST_P(Stories, are_told_so) {
  auto const path = std::string(MR_TEST_DATA "/coordinator/") + GetParam() + ".story";
  std::ifstream in(path);
  std::string expected, told;
  std::unique_ptr<Story> story;
  for (std::string line; std::getline(in, line);) {
    expected += line + "\n";
    if (line.starts_with("config")) {
      story = std::make_unique<Story>(config_of(line));
      told += line + "\n";
    } else if (line.starts_with("# ") || line.empty()) {
      told += line + "\n";
    } else if (line.starts_with("> ")) {
      if (!story) story = std::make_unique<Story>(config_of(""));
      told += line + "\n" + story->on(line.substr(2));
    }
  }
  ASSERT_TRUE(story);
  if (std::getenv("MR_STORIES_WRITE") != nullptr) {
    std::ofstream(path) << told;
  } else {
    EXPECT_EQ(told, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Coordinator, Stories, testing::ValuesIn(all_stories()),
                         [](auto const& one) { return one.param; });

}  // namespace
}  // namespace millrace::coordinator
