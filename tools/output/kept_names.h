// Names of columns on a command line.
#ifndef MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_
#define MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// Returns the names that the values of a repeated flag give, in their order. A value that equals
// one of `columns`, those of the data, is a name; any other one is a list of names with commas
// between them. Errors: InvalidArgument for an empty name and one that comes twice.
absl::StatusOr<std::vector<std::string>> kept_names(absl::Span<const std::string> values,
                                                    absl::Span<const std::string> columns);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_KEPT_NAMES_H_
