#include "tests/campaigns/campaign.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

constexpr size_t kShownViolations = 10;

}  // namespace

void CampaignResult::add(absl::string_view figure, int64_t count) {
  for (auto& [name, total] : figures_) {
    if (name == figure) {
      total += count;
      return;
    }
  }
  figures_.push_back({std::string(figure), count});
}

void CampaignResult::violate(std::string what) {
  ++violations_;
  if (first_.size() < kShownViolations) first_.push_back(std::move(what));
}

int64_t CampaignResult::figure(absl::string_view figure) const {
  const auto found = std::find_if(figures_.begin(), figures_.end(),
                                  [&](const auto& entry) { return entry.first == figure; });
  return found == figures_.end() ? 0 : found->second;
}

std::string CampaignResult::to_string() const {
  std::string text = absl::StrCat(name_, ": ");
  if (!skipped_.empty()) absl::StrAppend(&text, "not run: ", skipped_, "; ");
  for (const auto& [name, total] : figures_) absl::StrAppend(&text, name, " ", total, ", ");
  absl::StrAppend(&text, "violations ", violations_);
  for (const std::string& what : first_) absl::StrAppend(&text, "\n  violation: ", what);
  return text;
}

bool is_chosen(const CampaignOptions& options, int64_t number) {
  if (options.stride <= 1) return true;
  const uint64_t stride = options.stride;
  return philox64(0, 1, number) % stride == options.seed % stride;
}

}  // namespace millrace
