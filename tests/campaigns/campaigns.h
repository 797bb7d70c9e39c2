// The campaigns by name, and the planted faults that show that they see something.
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
  CampaignOptions brief;  // enough to see planted faults
};

// kills, syscalls, crash_states, disk, flips.
const std::vector<CampaignEntry>& campaigns();
// Null: there is none of this name.
const CampaignEntry* find_campaign(absl::string_view name);

// Runs, for each planted fault, the campaign that is to find it, briefly, in a process of its own;
// and each campaign once without a fault, which is to find nothing. Of `options` directory and seed
// count. `lines` gets a line for each fault, with what was found. What is not found is a violation.
// REQUIRES: this process has one thread and has not trained.
CampaignResult run_faults(const CampaignOptions& options, std::vector<std::string>* lines);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CAMPAIGNS_H_
