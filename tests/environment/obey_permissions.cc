#include "tests/environment/obey_permissions.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace {
namespace {

constexpr unsigned bit(int capability) { return 1u << capability; }
constexpr unsigned kRights = bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH);

// Both halves of the 64 capabilities; these rights are in the first half.
struct Capabilities {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};

  bool get() { return ::syscall(SYS_capget, &header, data) == 0; }
  bool set() { return ::syscall(SYS_capset, &header, data) == 0; }
};

}  // namespace

ObeyPermissions::ObeyPermissions() {
  Capabilities capabilities;
  EXPECT_TRUE(capabilities.get());
  before_ = capabilities.data[0].effective;
  capabilities.data[0].effective &= ~kRights;
  EXPECT_TRUE(capabilities.set());
}

ObeyPermissions::~ObeyPermissions() {
  Capabilities capabilities;
  EXPECT_TRUE(capabilities.get());
  capabilities.data[0].effective = before_;
  EXPECT_TRUE(capabilities.set());
}

bool obey_permissions_for_good() {
  // A program that root executes gets the capabilities of the bounding set.
  for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
    if (::prctl(PR_CAPBSET_READ, capability) == 1 && ::prctl(PR_CAPBSET_DROP, capability) != 0 &&
        ::geteuid() == 0) {
      return false;
    }
  }
  Capabilities capabilities;
  if (!capabilities.get()) return false;
  capabilities.data[0].effective &= ~kRights;
  capabilities.data[0].permitted &= ~kRights;
  capabilities.data[0].inheritable &= ~kRights;
  return capabilities.set();
}

}  // namespace millrace
