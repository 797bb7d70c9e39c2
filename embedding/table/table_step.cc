#include "embedding/table/table_step.h"

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status check_table_step(absl::string_view table, int64_t step) {
  if (step >= 0 && step <= kMaxTableStep) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "table ", table, " cannot note step ", step, ": the last step that saw a row is kept in 32 ",
      "bits, so ", kMaxTableStep, " is the largest; begin a new job with this one's model ",
      "(train.initialize_from)"));
}

}  // namespace millrace
