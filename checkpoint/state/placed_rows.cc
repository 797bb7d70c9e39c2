#include "checkpoint/state/placed_rows.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "distributed/agreed_result.h"

namespace millrace {

absl::Status check_placed_rows(const PlacedRows& all_ranks) {
  if (all_ranks.here == all_ranks.due) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(all_ranks.what, " has ", all_ranks.here, " rows where ",
                                          all_ranks.due, " are due"));
}

absl::Status agree_on_loading(const absl::Status& own, absl::string_view identity,
                              const std::vector<PlacedRows>& rows, Collectives& ranks) {
  std::string equal_part(identity);
  std::vector<int64_t> here;
  for (const PlacedRows& place : rows) {
    absl::StrAppend(&equal_part, " ", place.due);
    here.push_back(place.here);
  }
  const auto result =
      own.ok() ? absl::StatusOr<std::string>(equal_part) : absl::StatusOr<std::string>(own);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, gather_results(result, ranks));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank,
                     " has read something else than rank 0 at the same path; all ranks need the "
                     "same folder"));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> sums, sum_over_ranks(here, ranks));
  for (size_t i = 0; i < rows.size(); ++i) {
    RETURN_IF_ERROR(check_placed_rows({rows[i].what, sums[i], rows[i].due}));
  }
  return absl::OkStatus();
}

}  // namespace millrace
