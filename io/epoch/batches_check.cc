#include "io/epoch/batches_check.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_batches(absl::string_view where, const DataConfig& data) {
  constexpr int64_t kMostShuffled = std::numeric_limits<int32_t>::max();
  RETURN_IF_ERROR(at_least(where, "batch_size", data.batch_size(), 1));
  RETURN_IF_ERROR(at_least(where, "shuffle_rows", data.shuffle_rows(), 0));
  if (data.shuffle_rows() <= kMostShuffled) return absl::OkStatus();
  return wrong_number(where, "shuffle_rows", data.shuffle_rows(),
                      absl::StrCat("at most ", kMostShuffled));
}

}  // namespace millrace
