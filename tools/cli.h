// The millrace program as a library.
#ifndef MILLRACE_TOOLS_CLI_H_
#define MILLRACE_TOOLS_CLI_H_

#include <cstdint>
#include <functional>

namespace millrace {

enum class RankPhase;

// Receives the phase that this process, as a rank of several, has published to the other ranks: see
// C10dOptions::published. Called on another thread than the command's.
using RankListener = std::function<void(RankPhase, int64_t step)>;

// Parses the command line and runs the command. Your own job links this library with the libraries
// that register its models and hooks (millrace_job does this). Errors are printed as one line on
// stderr. Returns: the exit code, see tools/exit_code.h.
int run_program(int argc, char** argv, const RankListener& listener = nullptr);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CLI_H_
