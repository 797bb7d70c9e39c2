// The main function of a job of one's own; see millrace_job.bzl.
#ifndef MILLRACE_TOOLS_RUN_JOB_H_
#define MILLRACE_TOOLS_RUN_JOB_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// The millrace program with a configuration of its own: `config` is a runfile, as
// WORKSPACE/path/of/file, and stands where with_config puts it. Returns: the exit code.
int run_job(int argc, char** argv, absl::string_view config);

// The command line with `config` put behind `train`, `evaluate`, `predict`, `config check` or
// `config defaults` if nothing or a flag follows there. Other command lines stay as they are.
std::vector<std::string> with_config(std::vector<std::string> arguments, absl::string_view config);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_RUN_JOB_H_
