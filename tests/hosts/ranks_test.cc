// Runs each case of ranks_test.py.
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_replace.h"
#include "tests/e2e/program_test.h"
#include "tests/hosts/run_on_hosts.h"

namespace millrace {
namespace {

class RanksOnHostsTest : public testing::TestWithParam<const char*> {};

TEST_P(RanksOnHostsTest, Case) {
  ::setenv("MILLRACE", millrace_path().c_str(), /*overwrite=*/1);
  run_on_hosts("tests/hosts/ranks_test.py", {GetParam()});
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RanksOnHostsTest,
    testing::Values("RendezvousTest.test_own_name_at_127_0_1_1",
                    "RendezvousTest.test_second_interface", "RendezvousTest.test_ipv6_only",
                    "FailuresTest.test_killed_rank", "FailuresTest.test_dead_host",
                    "FailuresTest.test_frozen_host", "FailuresTest.test_partition",
                    "FailuresTest.test_one_way_loss",
                    "FailuresTest.test_a_third_host_is_not_accused",
                    "FailuresTest.test_link_down_for_less_than_the_time_out",
                    "FailuresTest.test_slow_and_lossy_link"),
    [](const auto& info) {
      return absl::StrReplaceAll(info.param, {{".", "_"}});
    });

}  // namespace
}  // namespace millrace
