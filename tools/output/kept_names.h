// Names of columns on a command line.
#ifndef MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_
#define MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// Returns the names in the values of a repeated flag, in order. A value equal to one of `columns`,
// the columns of the data, is a name; other values are lists of names separated by commas.
// Errors: InvalidArgument for an empty or repeated name.
absl::StatusOr<std::vector<std::string>> kept_names(absl::Span<const std::string> values,
                                                    absl::Span<const std::string> columns);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_
