// The rule that makes a label from a column.
#ifndef MILLRACE_IO_LOOK_LABEL_RULE_H_
#define MILLRACE_IO_LOOK_LABEL_RULE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// A column, or whether its value is at least a number.
struct LabelRule {
  std::string column;
  std::optional<double> at_least;

  // The label of a value.
  double label_of(double value) const { return at_least ? value >= *at_least : value; }
};

// Parses "COLUMN" or "COLUMN>=NUMBER"; spaces around the three parts do not count.
// Errors: InvalidArgument for an empty column, another comparison and what is no number.
absl::StatusOr<LabelRule> parse_label_rule(absl::string_view text);

// The first of `columns` that has a usual name of a label, such as "label", "click" or "target",
// in any case, else one that has it between blanks; none if no column has.
std::optional<std::string> find_label_name(absl::Span<const std::string> columns);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_LABEL_RULE_H_
