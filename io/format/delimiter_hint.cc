#include "io/format/delimiter_hint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millrace {

std::string delimiter_hint(absl::string_view line) {
  char best = '\0';
  int64_t most = 0;
  for (const char delimiter : {'\t', ';', '|', ',', ' '}) {
    const int64_t count = std::count(line.begin(), line.end(), delimiter);
    if (count <= most) continue;
    most = count;
    best = delimiter;
  }
  if (most == 0) return "";
  const std::string text = best == '\t' ? "\\t" : std::string(1, best);
  return absl::StrCat("; the line has \"", text, "\" ", most, most == 1 ? " time" : " times",
                      ": if it separates the cells, set csv { delimiter: \"", text, "\" }");
}

}  // namespace millrace
