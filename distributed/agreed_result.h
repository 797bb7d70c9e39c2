// Results and errors shared by all ranks.
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

// All ranks call these functions at the same point.

// Returns the values of all ranks, in the order of ranks. Errors: on all ranks the error of the
// lowest rank with an error, naming the rank if the job has several; any error of the collectives.
absl::StatusOr<std::vector<std::string>> gather_results(const absl::StatusOr<std::string>& own,
                                                        Collectives& ranks);

// Reports the status of each rank to all ranks. Errors: as gather_results().
absl::Status gather_statuses(const absl::Status& own, Collectives& ranks);

// Returns the sums of the numbers of all ranks.
// Errors: Internal if the ranks pass different counts of numbers; any error of the collectives.
absl::StatusOr<std::vector<int64_t>> sum_over_ranks(absl::Span<const int64_t> own,
                                                    Collectives& ranks);

// Calls `make` on rank 0 only, and returns its result on all ranks. Errors: the error of `make`, on
// all ranks; any error of the collectives.
absl::StatusOr<std::string> result_of_first(absl::FunctionRef<absl::StatusOr<std::string>()> make,
                                            Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_AGREED_RESULT_H_
