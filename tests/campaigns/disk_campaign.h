// Saves to disks of every size.
#ifndef MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Saves to a folder with one checkpoint, on disks whose free space ranges from nothing to more than
// the next checkpoint needs, in steps of `options.count` bytes:
//
//   * in memory, with a disk that knows its free space and with a disk that does not;
//   * on a real file system of that size (a tmpfs in a user namespace, in steps of pages; omitted
//     where that is forbidden), both ways too;
//   * on the local disk with a limit on the size of files, as `ulimit -f` sets it.
//
// Checks: a save succeeds, or reports that the disk is full; before the first byte if the disk
// knows its free space and not even tensors and state fit (the size of the manifest is not known
// then); the earlier checkpoint restores to the last bit; a failed save leaves no byte behind; with
// more free space the next attempt succeeds.
// REQUIRES: the process has one thread.
CampaignResult run_disk(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_DISK_CAMPAIGN_H_
