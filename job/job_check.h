// Checks of a configuration that depend on the program.
#ifndef MILLRACE_JOB_JOB_CHECK_H_
#define MILLRACE_JOB_JOB_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks what depends on the program or the number of ranks: the model and all hooks are linked
// into the program, `ranks` ranks can share the examples of a step, metrics and tasks fit
// each other, and reports, monitors, the best score and keep_best can be served.
// REQUIRES: `config` went through expand_names. Mistakes refused by validate() are not reported
// again.
// Errors: InvalidArgument with a line per mistake, with the field.
absl::Status check_job(const JobConfig& config, int64_t ranks = 1);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_CHECK_H_
