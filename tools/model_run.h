// The commands `evaluate` and `predict` in a process that continues afterwards.
#ifndef MILLRACE_TOOLS_MODEL_RUN_H_
#define MILLRACE_TOOLS_MODEL_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/model_flags.h"

namespace millrace {

struct PredictFlags : ModelFlags {
  std::optional<std::string> data;  // paths and patterns, separated by commas
  std::vector<std::string> keep;    // see kept_names
  std::string output;
};

// Evaluates as the command with these flags does, with its output. Data that hangs ends the
// process: see end_process() in tools/command_end.h. The first call of a process must follow
// initialize_logging(). Returns: the summary, see summary_json() in tools/output/run_summary.h.
// Errors of both functions: as the commands report them.
absl::StatusOr<std::string> run_evaluation(const ModelFlags& flags);

// Predicts in the same way. Returns: the number of examples of all ranks.
absl::StatusOr<int64_t> run_prediction(const PredictFlags& flags);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MODEL_RUN_H_
