// Damages every byte of a checkpoint.
#ifndef MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Damages the newer of two checkpoints in one place: each bit of every byte of every file, and all
// eight bits at once; every file cut to each length, extended by a byte, missing, in place of each
// other file, or taken from the older checkpoint; files that do not belong to the checkpoint.
// `options.stride` selects a part of the cases.
//
// Checks: a restore that may fall back restores the older checkpoint to the last bit, and its note
// names the newer checkpoint and the file; a strict restore returns DataLoss, or NotFound for a
// missing manifest, naming the file.
CampaignResult run_flips(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_FLIP_CAMPAIGN_H_
