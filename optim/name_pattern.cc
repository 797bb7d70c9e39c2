#include "optim/name_pattern.h"

#include <cstddef>

namespace millrace {

bool matches_pattern(absl::string_view name, absl::string_view pattern) {
  if (pattern.empty()) return true;
  size_t n = 0, p = 0;
  size_t star = absl::string_view::npos, resume = 0;  // the last *, and where its text ends so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace millrace
