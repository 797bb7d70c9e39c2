// What every rank has a part of, made one.
#ifndef MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_
#define MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

class Collectives;

// Figures that each rank collects by itself and that are wanted over all ranks.
class RankPart {
 public:
  virtual ~RankPart() = default;
  // This rank's part, for load_ranks.
  virtual std::string save() const = 0;
  // Replaces what is here by what all ranks' save() gave, by rank. The result follows from `ranks`
  // alone, so it is the same bits on every rank, also on one that had seen nothing; so is an error.
  // Errors: DataLoss for bytes that save() did not give; InvalidArgument, naming the ranks, for
  // parts that cannot be one. Nothing is kept then.
  virtual absl::Status load_ranks(absl::Span<const absl::string_view> ranks) = 0;
};

// Replaces each of `parts` by that of all ranks, with one exchange for all of them; does nothing
// with one rank. Collective: every rank calls it at the same point with the same kinds of parts.
// Errors: those of Collectives and of load_ranks.
//
//   RETURN_IF_ERROR(merge_ranks(collectives, {&metrics, &values}));
absl::Status merge_ranks(Collectives& collectives, std::initializer_list<RankPart*> parts);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_
