#include "job/health/awaited_ranks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {

std::string awaited_text(const std::vector<AwaitedRank>& ranks) {
  constexpr size_t kMostRanks = 3;
  if (ranks.empty()) return "other ranks";
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i) {
    texts.push_back(absl::StrCat("rank ", ranks[i].rank, " (", ranks[i].phase, " of step ",
                                 ranks[i].step, ")"));
  }
  if (ranks.size() > kMostRanks) texts.push_back(absl::StrCat(ranks.size() - kMostRanks, " more"));
  return absl::StrJoin(texts, ", ");
}

}  // namespace millrace
