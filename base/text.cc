#include "base/text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

constexpr uint64_t kMaxRange = 1'000'000;

// "first..last" with first <= last and at most kMaxRange numbers.
bool parse_range(absl::string_view text, int64_t* first, int64_t* last) {
  const size_t dots = text.find("..");
  return dots != absl::string_view::npos && absl::SimpleAtoi(text.substr(0, dots), first) &&
         absl::SimpleAtoi(text.substr(dots + 2), last) && *first <= *last &&
         static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first) < kMaxRange;
}

// Returns true if `candidate` is similar enough to `name` to be a useful hint: many names are one
// edit away from a short name.
bool is_hint(absl::string_view name, absl::string_view candidate, int distance) {
  if (distance == 0) return true;
  if (name.size() < 2) return false;
  return 2 * distance < static_cast<int>(std::max(name.size(), candidate.size())) ||
         name.size() != candidate.size();
}

}  // namespace

int edit_distance(absl::string_view a, absl::string_view b) {
  const size_t n = b.size();
  std::vector<int> before(n + 1), last(n + 1), current(n + 1);
  for (size_t j = 0; j <= n; ++j) last[j] = static_cast<int>(j);
  auto same = [](char x, char y) { return absl::ascii_tolower(x) == absl::ascii_tolower(y); };
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= n; ++j) {
      const int replace = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, current);
  }
  return last[n];
}

std::string nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = static_cast<int>(std::max<size_t>(name.size(), 3)) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance && is_hint(name, candidate, distance)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(absl::string_view name, const std::vector<std::string>& candidates,
                         int limit) {
  const std::string best = nearest(name, candidates);
  if (!best.empty()) return absl::StrCat("; did you mean \"", best, "\"?");
  if (candidates.empty()) return "";
  const auto end = candidates.begin() + std::min<size_t>(candidates.size(), limit);
  return absl::StrCat("; known: ", absl::StrJoin(candidates.begin(), end, ", "),
                      end == candidates.end() ? "" : ", …");
}

std::vector<std::string> expand_range(absl::string_view text, std::vector<int64_t>* numbers) {
  size_t open = text.find('{'), close = 0;
  int64_t first = 0, last = 0;
  while (open != absl::string_view::npos) {
    close = text.find('}', open);
    if (close == absl::string_view::npos) return {std::string(text)};
    if (parse_range(text.substr(open + 1, close - open - 1), &first, &last)) break;
    open = text.find('{', open + 1);
  }
  if (open == absl::string_view::npos) return {std::string(text)};
  std::vector<std::string> expanded;
  for (int64_t i = first; i <= last; ++i) {
    expanded.push_back(absl::StrCat(text.substr(0, open), i, text.substr(close + 1)));
    if (numbers != nullptr) numbers->push_back(i);
  }
  return expanded;
}

}  // namespace millrace
