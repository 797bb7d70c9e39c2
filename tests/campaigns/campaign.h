// Options and results that the long campaigns of docs/reliability.md share.
#ifndef MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/campaigns/planted_fault.h"

namespace millrace {

struct CampaignOptions {
  // The length of the campaign: kills that interrupted a save, crash states, or bytes between two
  // sizes of a disk.
  int64_t count = 100;
  // Runs one of `stride` numbered cases (system calls, flips), chosen by the seed.
  int64_t stride = 1;
  uint64_t seed = 1;
  std::string directory = {};  // on a disk; empty, and used only by this campaign
  PlantedFault fault = PlantedFault::kNone;
  // The campaign ends with the first violation.
  bool stop_at_violation = false;
  // Disturbs only system calls with this name; "": all.
  std::string only_call = {};
};

// The findings of a campaign. Used by one thread.
class CampaignResult {
 public:
  explicit CampaignResult(std::string name) : name_(std::move(name)) {}

  // Adds to a figure. Figures keep the order of their first occurrence.
  void add(absl::string_view figure, int64_t count = 1);
  // Records that a promise does not hold.
  void violate(std::string what);
  // Records why the campaign could not run.
  void skip(std::string why) { skipped_ = std::move(why); }

  int64_t figure(absl::string_view figure) const;
  int64_t violations() const { return violations_; }
  const std::vector<std::string>& first_violations() const { return first_; }
  const std::string& skipped() const { return skipped_; }

  // Returns a line with all figures, then a line for each of the first violations.
  std::string to_string() const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, int64_t>> figures_;
  int64_t violations_ = 0;
  std::vector<std::string> first_;
  std::string skipped_;
};

// Returns true if case `number` is among the cases to run. `stride` consecutive seeds together
// choose each case once.
bool is_chosen(const CampaignOptions& options, int64_t number);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_H_
