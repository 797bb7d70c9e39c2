// Runs a short chaos.py.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/e2e/program_test.h"
#include "tests/hosts/run_on_hosts.h"

namespace millrace {
namespace {

TEST(ChaosTest, FourFaults) {
  run_on_hosts("tests/campaigns/chaos.py",
               {"--program", millrace_path(), "--faults", "4", "--ranks", "3,2", "--kinds",
                "SIGKILL,SIGTERM,SIGSTOP,partition", "--slack", "60"},
               std::chrono::seconds(600));
}

}  // namespace
}  // namespace millrace
