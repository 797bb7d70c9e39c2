// The main function of your own job; see millrace_job.bzl.
#ifndef MILLRACE_TOOLS_RUN_JOB_H_
#define MILLRACE_TOOLS_RUN_JOB_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// Runs the millrace program with a configuration of the job: `config` is a runfile, as
// WORKSPACE/path/of/file, inserted by with_config under its source_path. Returns: the exit code.
int run_job(int argc, char** argv, absl::string_view config);

// Returns the path of the file that the links of `path` lead to, as the user would write it:
// relative if the file is below the working directory. Returns `path` if there is no such file.
std::string source_path(const std::string& path);

// Returns the command line with `config` inserted after `train`, `evaluate`, `predict`, `config
// check` or `config defaults` if the next argument is missing or a flag. Other command lines are
// unchanged.
std::vector<std::string> with_config(std::vector<std::string> arguments, absl::string_view config);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_RUN_JOB_H_
