// Checks of the sizes of generated data.
#ifndef MILLRACE_JOB_GENERATE_GENERATED_ROWS_CHECK_H_
#define MILLRACE_JOB_GENERATE_GENERATED_ROWS_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks rows and eval_rows. Errors: InvalidArgument with the field, after `where`, the place of
// the message in the configuration.
absl::Status check_generated_rows(absl::string_view where, const GeneratedDataConfig& data);

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_GENERATED_ROWS_CHECK_H_
