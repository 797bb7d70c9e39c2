// Kills training repeatedly during saves, until the training completes.
#ifndef MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Trains a job that saves after every step in a separate process, on the local disk. SIGKILL ends
// each process at a random time within a save; the next process resumes in the same folder.
// `options.count`: the number of kills that left an incomplete save; other kills do not count.
//
// Checks: each process restores the last acknowledged checkpoint, or a newer whole one, to the last
// bit of the undisturbed run's state at that step; after its first save, nothing of earlier saves
// is left; a second writer is refused; the job ends with the bytes of the undisturbed run.
// REQUIRES: the process has one thread and has not trained.
CampaignResult run_kills(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_KILL_CAMPAIGN_H_
