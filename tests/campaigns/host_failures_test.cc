// Runs a sample of host_failures.py, in parts.
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/hosts/run_on_hosts.h"

namespace millrace {
namespace {

class HostFailuresTest : public testing::TestWithParam<int> {};

constexpr int kParts = 10;

// The limits grow with the time that a busy machine needs for the start of a case.
TEST_P(HostFailuresTest, Sample) {
  run_on_hosts(
      "tests/campaigns/host_failures.py",
      {"--program", std::filesystem::absolute("tests/campaigns/host_rank").string(), "--sample",
       "40", "--slack", "measured", "--shard", absl::StrCat(GetParam(), "/", kParts)});
}

INSTANTIATE_TEST_SUITE_P(Parts, HostFailuresTest, testing::Range(0, kParts));

}  // namespace
}  // namespace millrace
