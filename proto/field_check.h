// Common functions of configuration checks, which format the place and the mistake.
#ifndef MILLRACE_PROTO_FIELD_CHECK_H_
#define MILLRACE_PROTO_FIELD_CHECK_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns the name of a list entry: train.table[3] "c4".
std::string entry(absl::string_view list, int index, absl::string_view name = "");

// Returns InvalidArgument: "WHERE: WHAT".
absl::Status wrong(absl::string_view where, absl::string_view what);

// Returns InvalidArgument: "WHERE: FIELD is VALUE; must be RULE".
template <typename Number>
absl::Status wrong_number(absl::string_view where, absl::string_view field, Number value,
                          absl::string_view rule) {
  return wrong(where, absl::StrCat(field, " is ", value, "; must be ", rule));
}

// Each function checks one number that is no field of a message, or whose limit depends on another
// field. Errors: wrong_number. See proto/range_check.h for all other numbers.
absl::Status at_least(absl::string_view where, absl::string_view field, int64_t value,
                      int64_t minimum);
absl::Status within(absl::string_view where, absl::string_view field, int64_t value,
                    int64_t minimum, int64_t maximum);
absl::Status not_negative(absl::string_view where, absl::string_view field, double value);

// Checks a name that becomes part of file and metric names: letters, digits, _ and -.
absl::Status plain_name(absl::string_view where, absl::string_view name);
// Checks that no earlier entry had the name; adds the name to `seen`.
absl::Status check_unique(absl::string_view where, absl::string_view name,
                          std::set<std::string>* seen);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FIELD_CHECK_H_
