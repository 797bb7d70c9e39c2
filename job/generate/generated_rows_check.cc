#include "job/generate/generated_rows_check.h"

#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_generated_rows(absl::string_view where, const GeneratedDataConfig& data) {
  RETURN_IF_ERROR(at_least(where, "rows", data.rows(), 1));
  return at_least(where, "eval_rows", data.eval_rows(), 0);
}

}  // namespace millrace
