// The campaigns by name, and planted faults, which each campaign must find.
#ifndef MILLRACE_TESTS_CAMPAIGNS_CAMPAIGNS_H_
#define MILLRACE_TESTS_CAMPAIGNS_CAMPAIGNS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/campaigns/campaign.h"

namespace millrace {

struct CampaignEntry {
  const char* name;
  std::function<CampaignResult(const CampaignOptions&)> run;
  int64_t long_count;     // of CampaignOptions, in a long run; the stride is 1 then
  CampaignOptions brief;  // enough to find planted faults
};

// Returns kills, syscalls, crash_states, disk, flips.
const std::vector<CampaignEntry>& campaigns();
// Returns null for an unknown name.
const CampaignEntry* find_campaign(absl::string_view name);

// Runs, for each planted fault, the campaign that must find it, briefly and in a separate process;
// and each campaign once without a fault, which must find nothing. Uses `directory` and `seed` of
// `options`. Appends to `lines` a line for each fault with the findings. A fault that is not found
// is a violation.
// REQUIRES: the process has one thread and has not trained.
CampaignResult run_faults(const CampaignOptions& options, std::vector<std::string>* lines);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CAMPAIGNS_H_
