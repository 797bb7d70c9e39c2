#include "checkpoint/placed_rows.h"

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "distributed/agreed_result.h"

namespace millrace {

absl::Status check_placed_rows(const PlacedRows& all_ranks) {
  if (all_ranks.here == all_ranks.due) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(all_ranks.what, " has ", all_ranks.here, " rows, not ",
                                          all_ranks.due, " as its manifest says"));
}

absl::Status agree_on_loading(const absl::Status& own, const std::vector<PlacedRows>& rows,
                              Collectives& ranks) {
  const auto add_rows = [](std::string* text, const PlacedRows& place) {
    absl::StrAppend(text, place.here);
  };
  const absl::StatusOr<std::string> counts =
      own.ok() ? absl::StatusOr<std::string>(absl::StrJoin(rows, ",", add_rows))
               : absl::StatusOr<std::string>(own);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, gather_results(counts, ranks));
  std::vector<PlacedRows> sums = rows;
  for (PlacedRows& sum : sums) sum.here = 0;
  for (const std::string& one : all) {
    const std::vector<absl::string_view> words = absl::StrSplit(one, ',', absl::SkipEmpty());
    if (words.size() != sums.size()) {
      return absl::InternalError("ranks took rows from different places");
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      int64_t here = 0;
      if (!absl::SimpleAtoi(words[i], &here)) return absl::InternalError("a rank sent no number");
      sums[i].here += here;
    }
  }
  for (const PlacedRows& sum : sums) RETURN_IF_ERROR(check_placed_rows(sum));
  return absl::OkStatus();
}

}  // namespace millrace
