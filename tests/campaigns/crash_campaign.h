// Crash states of what a Saver does to a disk.
#ifndef MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Records the operations of a job on an empty disk: the folder is made, three steps are saved, with
// retention that removes and reduces, and the last is replaced by another of the same step; then
// enumerates `options.count` states that a crash may leave
// (checkpoint/testing/crash_states_testing.h).
//
// Checked, for each distinct one: the newest checkpoint that verifies to the last byte is the one
// acknowledged last before the crash, byte for byte, or a later one that is whole. Each 50th is
// also restored through a Saver, to the bits of the state that was saved.
CampaignResult run_crash_states(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_
