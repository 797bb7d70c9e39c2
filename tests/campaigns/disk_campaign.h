// Saves on disks of every size.
#ifndef MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// A folder with one checkpoint, and room for anything between nothing and more than the next one
// needs, in steps of `options.count` bytes:
//
//   * in memory, where the disk says how much room there is, and where it does not know;
//   * on a real file system of that size (a tmpfs in a user namespace, in steps of pages; left out
//     where that is forbidden), both ways too;
//   * on the local disk with a limit on the size of files, as `ulimit -f` sets it.
//
// Checked: a save works, or says that there is no room; before the first byte where the disk says
// so and not even tensors and state fit (nobody knows the size of the manifest then); the
// checkpoint from before comes back to the last bit; a failed save leaves no byte behind; with more
// room the next attempt works.
// REQUIRES: this process has one thread.
CampaignResult run_disk(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_
