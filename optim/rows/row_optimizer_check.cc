#include "optim/rows/row_optimizer_check.h"

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config) {
  FieldErrors errors;
  errors.add(check_ranges(where, config));
  if (config.has_custom()) {
    errors.add(annotate(PartFamily::check("row optimizer", config.custom().name()),
                        absl::StrCat(where, ".custom")));
  }
  return errors.status();
}

}  // namespace millrace
