// A few steps of a job that leave nothing behind.
#ifndef MILLRACE_TOOLS_DRY_RUN_H_
#define MILLRACE_TOOLS_DRY_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/config_flags.h"

namespace millrace {

struct DryRunFlags {
  int64_t steps = 0;              // of training, and batches of each evaluation set; 0: no dry run
  std::vector<std::string> rows;  // TABLE=NUMBER, see parse_rows()
};

// Makes the parts of the job, trains `steps` steps, evaluates as many batches of each set, and
// writes times, metrics and memory to `out`. Runs no hook of the job and writes no file. Runs in
// one process. Returns: the exit code. Errors: as `train`, also for refused steps; InvalidArgument
// on several ranks and for wrong rows.
absl::StatusOr<int> dry_run(const ConfigFlags& flags, const DryRunFlags& dry, std::ostream& out);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DRY_RUN_H_
