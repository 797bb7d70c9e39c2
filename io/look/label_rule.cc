#include "io/look/label_rule.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr absl::string_view kLabelNames[] = {"label",      "click",    "clicked",   "is_click",
                                             "is_clicked", "clk",      "target",    "y",
                                             "converted",  "purchase", "conversion"};

}  // namespace

absl::StatusOr<LabelRule> parse_label_rule(absl::string_view text) {
  const size_t sign = text.find_first_of("<>=");
  LabelRule rule;
  rule.column = std::string(absl::StripAsciiWhitespace(text.substr(0, sign)));
  if (rule.column.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" names no column; write COLUMN or 'COLUMN>=NUMBER'"));
  }
  if (sign == absl::string_view::npos) return rule;
  double number = 0;
  if (text.substr(sign, 2) != ">=" ||
      !absl::SimpleAtod(absl::StripAsciiWhitespace(text.substr(sign + 2)), &number) ||
      !std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a comparison that a label can have; write 'COLUMN>=NUMBER'"));
  }
  rule.at_least = number;
  return rule;
}

std::optional<std::string> find_label_name(absl::Span<const std::string> columns) {
  std::optional<std::string> between_blanks;
  for (const absl::string_view name : kLabelNames) {
    for (const std::string& column : columns) {
      if (absl::EqualsIgnoreCase(column, name)) return column;
      if (between_blanks || !absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(column), name)) {
        continue;
      }
      between_blanks = column;
    }
  }
  return between_blanks;
}

}  // namespace millrace
