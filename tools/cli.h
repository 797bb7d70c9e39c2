// The millrace program as a library.
#ifndef MILLRACE_TOOLS_CLI_H_
#define MILLRACE_TOOLS_CLI_H_

namespace millrace {

// Parses the command line and runs the command. A job of one's own links this with the libraries
// that register its models and hooks (millrace_job does that). Errors are printed as one line on stderr.
// Returns: the exit code, see tools/exit_code.h.
int run_program(int argc, char** argv);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CLI_H_
