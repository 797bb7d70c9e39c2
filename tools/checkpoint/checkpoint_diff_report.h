// What `millrace checkpoint diff` prints.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_

#include <string>

#include "checkpoint/inspect/checkpoint_diff.h"

namespace millrace {

// For people: a line for each thing that differs, or that all is equal.
std::string diff_text(const CheckpointDiff& diff);

// One JSON object; docs/checkpoint_command.md says what its fields are.
std::string diff_json(const CheckpointDiff& diff);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_DIFF_REPORT_H_
