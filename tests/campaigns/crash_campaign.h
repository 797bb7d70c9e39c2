// The crash states of a Saver's writes.
#ifndef MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Records the operations of a job on an empty disk: the folder is created, three steps are saved,
// with retention that removes and reduces, and the last checkpoint is replaced by another of the
// same step. Then enumerates `options.count` states that a crash may leave
// (checkpoint/testing/crash_states_testing.h).
//
// Checks for each distinct state: the newest checkpoint that verifies to the last byte is the last
// checkpoint acknowledged before the crash, byte for byte, or a later whole checkpoint. Each 50th
// state is also restored through a Saver, to the bits of the saved state.
CampaignResult run_crash_states(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CRASH_CAMPAIGN_H_
