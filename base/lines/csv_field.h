// Fields of comma-separated values.
#ifndef MILLRACE_BASE_LINES_CSV_FIELD_H_
#define MILLRACE_BASE_LINES_CSV_FIELD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `text` as a field of RFC 4180: in quotes where it has to be.
std::string csv_field(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_CSV_FIELD_H_
