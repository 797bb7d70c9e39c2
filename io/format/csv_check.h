// Rules of the configuration of delimited text.
#ifndef MILLRACE_IO_FORMAT_CSV_CHECK_H_
#define MILLRACE_IO_FORMAT_CSV_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks delimiters, columns and what a TYPED header leaves open. Errors: InvalidArgument that
// begins with `where`, the place of the message in the configuration, and names the field.
absl::Status check_csv(absl::string_view where, const CsvConfig& csv);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_CSV_CHECK_H_
