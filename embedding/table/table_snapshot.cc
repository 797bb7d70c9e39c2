#include "embedding/table/table_snapshot.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::vector<int64_t>> TableSnapshot::evicted_since(
    int64_t step, absl::Span<const RowIndex> order) const {
  ASSIGN_OR_RETURN(const std::vector<int64_t> gone, parts_.evicted.since(step),
                   absl::StrCat("table ", name()));
  // `gone` and `order` are both sorted by placement_hash.
  std::vector<int64_t> ids;
  auto row = order.begin();
  for (const int64_t id : gone) {
    const uint64_t hash = placement_hash(id);
    while (row != order.end() && placement_hash(rows().id(*row)) < hash) ++row;
    if (row == order.end() || rows().id(*row) != id) ids.push_back(id);
  }
  return ids;
}

}  // namespace millrace
