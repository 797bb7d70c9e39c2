// Every byte of a checkpoint changed.
#ifndef MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// The newer of two checkpoints is damaged in one place: each bit of every byte of every file, and
// all eight at once; every file cut to each length, a byte longer, missing, in the place of each
// other one, taken from the older checkpoint; files that do not belong there. `options.stride`
// thins these out.
//
// Checked: a restore that may fall back uses the older one, to the last bit, and its note names the
// newer one and the file; a strict one is DataLoss, or NotFound for a missing manifest, naming the
// file.
CampaignResult run_flips(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_
