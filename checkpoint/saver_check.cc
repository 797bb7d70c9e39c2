#include "checkpoint/saver_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "checkpoint/folder/retention.h"
#include "checkpoint/state/row_filter.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::Status check_saver(absl::string_view where, const CheckpointConfig& config) {
  FieldErrors errors;
  errors.add(check_retention(where, config));
  for (const std::string& pattern : config.exclude()) {
    if (pattern.empty()) errors.add(wrong(where, "exclude has an empty pattern"));
  }
  if (config.has_row_filter()) {
    const std::string filter = absl::StrCat(where, ".row_filter");
    errors.add(check_row_filter(filter, config.row_filter()));
    if (config.max_deltas() > 0) {
      errors.add(wrong(filter, "max_deltas is above 0; a delta cannot omit rows of its base"));
    }
  }
  return errors.status();
}

}  // namespace millrace
