// What checks of a configuration have in common: how they name a place and what is wrong there.
#ifndef MILLRACE_PROTO_FIELD_CHECK_H_
#define MILLRACE_PROTO_FIELD_CHECK_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {

// A place: train.table[3] "c4".
std::string entry(absl::string_view list, int index, absl::string_view name = "");

// InvalidArgument: "WHERE: WHAT".
absl::Status wrong(absl::string_view where, absl::string_view what);

// InvalidArgument: "WHERE: FIELD is VALUE; must be RULE".
template <typename Number>
absl::Status wrong_number(absl::string_view where, absl::string_view field, Number value,
                          absl::string_view rule) {
  return wrong(where, absl::StrCat(field, " is ", value, "; must be ", rule));
}

// Errors: wrong_number.
absl::Status at_least(absl::string_view where, absl::string_view field, int64_t value,
                      int64_t minimum);
absl::Status within(absl::string_view where, absl::string_view field, int64_t value,
                    int64_t minimum, int64_t maximum);
absl::Status not_negative(absl::string_view where, absl::string_view field, double value);
absl::Status positive(absl::string_view where, absl::string_view field, double value);
// At least 0.
absl::Status below_one(absl::string_view where, absl::string_view field, double value);

// Of names that become parts of file and metric names: letters, digits, _ and -.
absl::Status plain_name(absl::string_view where, absl::string_view name);
// That no entry before this one had the name; adds it to `seen`.
absl::Status untaken(absl::string_view where, absl::string_view name, std::set<std::string>* seen);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FIELD_CHECK_H_
