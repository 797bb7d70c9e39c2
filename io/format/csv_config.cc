#include "io/format/csv_config.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_csv(absl::string_view where, const CsvConfig& csv) {
  if (csv.delimiter().size() != 1) {
    return wrong(where,
                 absl::StrCat("delimiter is \"", csv.delimiter(), "\"; must be one character"));
  }
  if (csv.list_delimiter().size() > 1) {
    return wrong(where, absl::StrCat("list_delimiter is \"", csv.list_delimiter(),
                                     "\"; must be one character, or empty"));
  }
  // A quoted cell holds delimiters as text, so it can be a list with the same one.
  if (csv.list_delimiter() == csv.delimiter() && csv.literal_quotes()) {
    return wrong(where, absl::StrCat("list_delimiter is \"", csv.list_delimiter(),
                                     "\", as delimiter is; with literal_quotes they must differ"));
  }
  if (absl::StrCat(csv.delimiter(), csv.list_delimiter()).find_first_of("\n\r\"") !=
      std::string::npos) {
    return wrong(where,
                 "a delimiter must be one character, and neither a quote nor the end of a line");
  }
  std::set<std::string> names;
  for (int i = 0; i < csv.column_size(); ++i) {
    const std::string column = entry(absl::StrCat(where, ".column"), i, csv.column(i));
    if (csv.column(i).empty()) return wrong(column, "is empty");
    RETURN_IF_ERROR(check_unique(column, csv.column(i), &names));
  }
  if (csv.header() == CsvConfig::TYPED && !csv.list_delimiter().empty()) {
    return wrong(where, "list_delimiter is given, but a TYPED header says which columns are lists");
  }
  if (csv.header() == CsvConfig::TYPED && !csv.hexadecimal().empty()) {
    return wrong(where, "hexadecimal is given, but a TYPED header says what columns hold");
  }
  return absl::OkStatus();
}

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
