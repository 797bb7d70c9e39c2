#include "io/format/delimiter_hint.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr absl::string_view kUsual = "\t;|, ";

}  // namespace

std::string quoted_delimiter(char delimiter) {
  return absl::StrCat("\"", absl::CEscape(absl::string_view(&delimiter, 1)), "\"");
}

std::string delimiter_setting(char delimiter) {
  return absl::StrCat("csv { delimiter: ", quoted_delimiter(delimiter), " }");
}

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
  return absl::StrCat("; the line has ", quoted_delimiter(best), " ", most,
                      most == 1 ? " time" : " times", ": if it separates the cells, set ",
                      delimiter_setting(best));
}

std::string delimiter_hint_behind_quote(absl::string_view text) {
  // A blank rather belongs to text that is not quoted: "5" pipe".
  if (text.empty() || text[0] == ' ' || kUsual.find(text[0]) == absl::string_view::npos) return "";
  return absl::StrCat("; if ", quoted_delimiter(text[0]), " separates the cells, set ",
                      delimiter_setting(text[0]));
}

}  // namespace millrace
