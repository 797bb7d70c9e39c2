// Training that is killed while it saves, again and again, until it is done.
#ifndef MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// A job that saves after every step lives in a process of its own, on the local disk. SIGKILL ends
// each life at an instant chosen by chance within a save; the next one goes on in the same folder.
// `options.count`: kills that left something half done; only those count.
//
// Checked: each life restores what was last acknowledged, or a newer whole one, to the last bit of
// the undisturbed run's state then; once it has saved nothing is left of those before; a second
// writer is refused; the job ends with the bytes of the undisturbed run.
// REQUIRES: this process has one thread and has not trained.
CampaignResult run_kills(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_
