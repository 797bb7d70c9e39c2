// The output of `millrace checkpoint diff`.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_

#include <string>

#include "checkpoint/inspect/checkpoint_diff.h"

namespace millrace {

// Returns a line per difference, or a line about equality, for people.
std::string diff_text(const CheckpointDiff& diff);

// Returns a JSON object; docs/checkpoint_command.md describes its fields.
std::string diff_json(const CheckpointDiff& diff);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_
