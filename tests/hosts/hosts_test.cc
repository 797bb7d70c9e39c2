// Runs hosts_test.py.
#include <gtest/gtest.h>

#include "tests/hosts/run_on_hosts.h"

namespace millrace {
namespace {

TEST(HostsTest, EachFaultShowsAndNothingIsLeft) { run_on_hosts("tests/hosts/hosts_test.py"); }

}  // namespace
}  // namespace millrace
