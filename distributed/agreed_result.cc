#include "distributed/agreed_result.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Encodes a result for other ranks: the code and the kind of failure as one character each, then
// the message or the value.
std::string pack(const absl::StatusOr<std::string>& result) {
  const std::string head = {static_cast<char>(result.status().raw_code()),
                            static_cast<char>(kind_of(result.status()))};
  return head + (result.ok() ? *result : std::string(result.status().message()));
}

absl::StatusOr<std::string> unpack(absl::string_view packed) {
  if (packed.size() < 2) return absl::InternalError("another rank sent nothing");
  const auto code = static_cast<absl::StatusCode>(packed[0]);
  if (code == absl::StatusCode::kOk) return std::string(packed.substr(2));
  return with_kind(absl::Status(code, packed.substr(2)), static_cast<FailureKind>(packed[1]));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> gather_results(const absl::StatusOr<std::string>& own,
                                                        Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks.all_gather(pack(own)));
  std::vector<std::string> values;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    absl::StatusOr<std::string> value = unpack(all[rank]);
    if (!value.ok() && ranks.world_size() > 1) {
      return annotate(value.status(), absl::StrCat("rank ", rank));
    }
    RETURN_IF_ERROR(value.status());
    values.push_back(*std::move(value));
  }
  return values;
}

absl::Status gather_statuses(const absl::Status& own, Collectives& ranks) {
  const auto result =
      own.ok() ? absl::StatusOr<std::string>(std::string()) : absl::StatusOr<std::string>(own);
  return gather_results(result, ranks).status();
}

absl::StatusOr<std::vector<int64_t>> sum_over_ranks(absl::Span<const int64_t> own,
                                                    Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks.all_gather(absl::StrJoin(own, ",")));
  std::vector<int64_t> sums(own.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(all[rank], ',', absl::SkipEmpty());
    bool good = numbers.size() == sums.size();
    for (size_t i = 0; good && i < sums.size(); ++i) {
      int64_t number = 0;
      good = absl::SimpleAtoi(numbers[i], &number);
      sums[i] += number;
    }
    if (!good) return absl::InternalError(absl::StrCat("rank ", rank, " sent other numbers"));
  }
  return sums;
}

absl::StatusOr<std::string> result_of_first(absl::FunctionRef<absl::StatusOr<std::string>()> make,
                                            Collectives& ranks) {
  std::string own;
  if (ranks.rank() == 0) own = pack(catch_exceptions(make));
  ASSIGN_OR_RETURN(const std::string packed, ranks.broadcast(own, 0));
  return unpack(packed);
}

}  // namespace millrace
