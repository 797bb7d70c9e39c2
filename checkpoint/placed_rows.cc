#include "checkpoint/placed_rows.h"

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  // What must be equal, a line end, and the rows of each place.
  std::string text(identity);
  for (const PlacedRows& place : rows) absl::StrAppend(&text, " ", place.due);
  text.push_back('\n');
  for (const PlacedRows& place : rows) absl::StrAppend(&text, place.here, ",");
  const absl::StatusOr<std::string> result =
      own.ok() ? absl::StatusOr<std::string>(text) : absl::StatusOr<std::string>(own);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, gather_results(result, ranks));
  const auto equal_part = [](absl::string_view one) { return one.substr(0, one.find('\n')); };
  std::vector<PlacedRows> sums = rows;
  for (PlacedRows& sum : sums) sum.here = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (equal_part(all[rank]) != equal_part(all[0])) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank,
                       " has read something else than rank 0 at the same path; all ranks need "
                       "the same folder"));
    }
    const std::vector<absl::string_view> words =
        absl::StrSplit(absl::string_view(all[rank]).substr(equal_part(all[rank]).size() + 1), ',',
                       absl::SkipEmpty());
    for (size_t i = 0; i < sums.size(); ++i) {
      int64_t here = 0;
      if (i >= words.size() || !absl::SimpleAtoi(words[i], &here)) {
        return absl::InternalError(absl::StrCat("rank ", rank, " sent no number of rows"));
      }
      sums[i].here += here;
    }
  }
  for (const PlacedRows& sum : sums) RETURN_IF_ERROR(check_placed_rows(sum));
  return absl::OkStatus();
}

}  // namespace millrace
