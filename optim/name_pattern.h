// Patterns over names.
#ifndef MILLRACE_OPTIM_NAME_PATTERN_H_
#define MILLRACE_OPTIM_NAME_PATTERN_H_

#include <algorithm>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true if the whole `name` matches `pattern`, in which * matches any text, also the empty
// text. The empty pattern matches every name.
bool matches_pattern(absl::string_view name, absl::string_view pattern);

// Return true if `name` matches one of `patterns`, and if `pattern` matches one of `names`.
template <typename Patterns>
bool matches_any(absl::string_view name, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return matches_pattern(name, pattern); });
}
template <typename Names>
bool fits_any(absl::string_view pattern, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return matches_pattern(name, pattern); });
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_NAME_PATTERN_H_
