#include "io/epoch/batches_check.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_batches(absl::string_view where, const DataConfig& data) {
  constexpr int64_t kMostShuffled = std::numeric_limits<int32_t>::max();
  FieldErrors errors;
  errors.add(check_own_ranges(where, data));
  if (data.shuffle_rows() > kMostShuffled) {
    errors.add(wrong_number(where, "shuffle_rows", data.shuffle_rows(),
                            absl::StrCat("at most ", kMostShuffled)));
  }
  return errors.status();
}

}  // namespace millrace
