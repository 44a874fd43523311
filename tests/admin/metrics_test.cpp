// Proves that docs/metrics.md is what the registry of metrics says. MR_WRITE_DOCS=1 writes it instead.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "millrace/admin/admin.h"

namespace millrace::admin {
namespace {

constexpr auto kPage = "docs/metrics.md";

TEST(Metrics, the_page_is_what_the_registry_says) {
  auto const wanted = metrics_markdown();
  if (std::getenv("MR_WRITE_DOCS") != nullptr) {
    std::ofstream(kPage) << wanted;
    return;
  }
  std::ifstream file(kPage);
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_EQ(content.str(), wanted) << "write it anew with MR_WRITE_DOCS=1 test_admin";
}

TEST(Metrics, names_are_unique_and_counters_end_in_total) {
  std::istringstream page(metrics_markdown());
  std::set<std::string> names;
  size_t count = 0;
  for (std::string line; std::getline(page, line) && line != "## Kafka's names";) {
    if (!line.starts_with("| `millrace_")) continue;
    auto const name = line.substr(3, line.find('`', 3) - 3);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(line.find("| counter |") != std::string::npos, name.ends_with("_total")) << name;
    ++count;
  }
  EXPECT_GT(count, 50u);
}

}  // namespace
}  // namespace millrace::admin
