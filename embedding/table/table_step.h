// Numbers of steps that rows can hold.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The largest step: the format of checkpoints keeps the last step of a row in 32 bits.
inline constexpr int64_t kMaxTableStep = std::numeric_limits<uint32_t>::max();

// Checks that the rows of `table` can note `step` as the last one that saw them. Called before
// anything of a step or of a loaded state is changed. Errors: OutOfRange naming table and step.
absl::Status check_table_step(absl::string_view table, int64_t step);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_
