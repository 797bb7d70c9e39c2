// The files to which the launcher of this process writes the output of its ranks.
#ifndef MILLRACE_TOOLS_LAUNCH_LAUNCHER_OUTPUT_H_
#define MILLRACE_TOOLS_LAUNCH_LAUNCHER_OUTPUT_H_

#include <string>

namespace millrace {

// Returns the assignment of an environment variable by which a rank recognizes the files of these
// descriptors of its launcher, since the rank's own outputs are pipes.
std::string launcher_output_variable(int out, int err);

// Returns true if `path` is such a file of the launcher that started this process.
bool is_launcher_output(const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_LAUNCHER_OUTPUT_H_
