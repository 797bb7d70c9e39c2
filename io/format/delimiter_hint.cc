#include "io/format/delimiter_hint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millrace {

namespace {

constexpr absl::string_view kUsual = "\t;|, ";

// As it is written in a configuration.
std::string written(char delimiter) {
  return delimiter == '\t' ? "\\t" : std::string(1, delimiter);
}

}  // namespace

std::string delimiter_hint(absl::string_view line) {
  char best = '\0';
  int64_t most = 0;
  for (const char delimiter : kUsual) {
    const int64_t count = std::count(line.begin(), line.end(), delimiter);
    if (count <= most) continue;
    most = count;
    best = delimiter;
  }
  if (most == 0) return "";
  const std::string text = written(best);
  return absl::StrCat("; the line has \"", text, "\" ", most, most == 1 ? " time" : " times",
                      ": if it separates the cells, set csv { delimiter: \"", text, "\" }");
}

std::string delimiter_hint_behind_quote(absl::string_view text) {
  // A blank rather belongs to text that is not quoted: "5" pipe".
  if (text.empty() || text[0] == ' ' || kUsual.find(text[0]) == absl::string_view::npos) return "";
  const std::string delimiter = written(text[0]);
  return absl::StrCat("; if \"", delimiter, "\" separates the cells, set csv { delimiter: \"",
                      delimiter, "\" }");
}

}  // namespace millrace
