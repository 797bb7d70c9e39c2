// What the long campaigns of docs/reliability.md have in common: what they are told and what they
// find.
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
  // How long it goes on: kills that met a save, crash states, bytes between two sizes of a disk.
  int64_t count = 100;
  // Of cases that can be numbered (system calls, flips) one in so many, by chance.
  int64_t stride = 1;
  uint64_t seed = 1;
  std::string directory = {};  // on a disk; empty, and used by nobody else
  PlantedFault fault = PlantedFault::kNone;
  // The campaign ends with the first violation.
  bool stop_at_violation = false;
  // Of system calls those of this name alone; "": all.
  std::string only_call = {};
};

// What a campaign found. Used by one thread.
class CampaignResult {
 public:
  explicit CampaignResult(std::string name) : name_(std::move(name)) {}

  // Adds to a figure; figures keep the order in which they first came.
  void add(absl::string_view figure, int64_t count = 1);
  // Something that was promised does not hold.
  void violate(std::string what);
  // The campaign could not be run here.
  void skip(std::string why) { skipped_ = std::move(why); }

  int64_t figure(absl::string_view figure) const;
  int64_t violations() const { return violations_; }
  const std::vector<std::string>& first_violations() const { return first_; }
  const std::string& skipped() const { return skipped_; }

  // One line with all figures, then one for each of the first violations.
  std::string to_string() const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, int64_t>> figures_;
  int64_t violations_ = 0;
  std::vector<std::string> first_;
  std::string skipped_;
};

// Whether case number `number` is one of those to look at. As many seeds in a row as the stride
// says choose each case once.
bool is_chosen(const CampaignOptions& options, int64_t number);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_CAMPAIGN_H_
