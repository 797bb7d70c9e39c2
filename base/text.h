// Small text helpers: suggestions for misspelt names, and views across string types.
#ifndef MILLRACE_BASE_TEXT_H_
#define MILLRACE_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// Abseil's string_view of a packaged Abseil is not std::string_view; this converts.
inline absl::string_view to_absl(std::string_view text) { return {text.data(), text.size()}; }

// The number of insertions, deletions, replacements and swaps of neighbours between two
// words, ignoring case.
int edit_distance(absl::string_view a, absl::string_view b);

// Returns the candidate nearest to `name`, or "" if none is near: more than a third of the letters
// differ. A name of one letter is near only to itself, a name of two letters also to names with one
// letter more or less. The first of equally near candidates is returned.
std::string nearest(absl::string_view name, const std::vector<std::string>& candidates);

// "; did you mean "x"?" when a candidate is near, else "; known: a, b, c" (at most `limit`
// of them), else "" — to end an error message with.
std::string did_you_mean(absl::string_view name, const std::vector<std::string>& candidates,
                         int limit = 12);

// Expands the first range in braces: "c{1..3}" gives {"c1", "c2", "c3"}; a text without one
// gives itself. `numbers`, if given, receives the numbers.
std::vector<std::string> expand_range(absl::string_view text,
                                      std::vector<int64_t>* numbers = nullptr);

}  // namespace millrace

#endif  // MILLRACE_BASE_TEXT_H_
