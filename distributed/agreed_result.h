// Results that all ranks share, good or bad.
#ifndef MILLRACE_DISTRIBUTED_AGREED_RESULT_H_
#define MILLRACE_DISTRIBUTED_AGREED_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "distributed/collectives.h"

namespace millrace {

// All ranks call these at the same point.

// What every rank has, in the order of ranks. Errors: that of the lowest rank that has one, on all
// ranks, naming it where there are several; those of the collectives.
absl::StatusOr<std::vector<std::string>> gather_results(const absl::StatusOr<std::string>& own,
                                                        Collectives& ranks);

// The same of results without a value.
absl::Status gather_statuses(const absl::Status& own, Collectives& ranks);

// Returns the sums of the numbers that each rank has. Errors: Internal if a rank has another
// number of them; those of the collectives.
absl::StatusOr<std::vector<int64_t>> sum_over_ranks(absl::Span<const int64_t> own,
                                                    Collectives& ranks);

// What `make` returns on rank 0, where alone it is called. Errors: its error, on all ranks; those
// of the collectives.
absl::StatusOr<std::string> result_of_first(absl::FunctionRef<absl::StatusOr<std::string>()> make,
                                            Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_AGREED_RESULT_H_
