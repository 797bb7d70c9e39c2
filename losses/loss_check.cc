#include "losses/loss_check.h"

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
absl::Status check_loss(absl::string_view where, const TaskConfig& task) {
  FieldErrors errors;
  errors.add(check_ranges(where, task));
  if (task.has_custom()) {
    errors.add(
        annotate(PartFamily::check("loss", task.custom().name()), absl::StrCat(where, ".custom")));
  }
  return errors.status();
}

}  // namespace millrace
