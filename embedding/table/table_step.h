// The range of steps that rows can store.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The maximum step: checkpoints store the last step of a row in 32 bits.
inline constexpr int64_t kMaxTableStep = std::numeric_limits<uint32_t>::max();

// Checks that the rows of `table` can store `step` as their last step. Called before a step or a
// loaded state changes the table. Errors: OutOfRange naming table and step.
absl::Status check_table_step(absl::string_view table, int64_t step);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_STEP_H_
