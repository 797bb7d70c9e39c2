#include "io/epoch/batches_check.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::Status check_batches(absl::string_view where, const DataConfig& data) {
  constexpr int64_t kMostShuffled = std::numeric_limits<int32_t>::max();
  FieldErrors errors;
  errors.add(at_least(where, "batch_size", data.batch_size(), 1));
  errors.add(at_least(where, "shuffle_rows", data.shuffle_rows(), 0));
  if (data.shuffle_rows() > kMostShuffled) {
    errors.add(wrong_number(where, "shuffle_rows", data.shuffle_rows(),
                            absl::StrCat("at most ", kMostShuffled)));
  }
  return errors.status();
}

}  // namespace millrace
