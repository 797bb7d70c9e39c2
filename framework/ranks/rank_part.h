// Figures and cursors of single ranks, collected over all ranks.
#ifndef MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_
#define MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/cursor.h"

namespace millrace {

class Collectives;

// Figures collected separately by each rank and reported over all ranks.
class RankPart {
 public:
  virtual ~RankPart() = default;
  // Returns this rank's part, for load_ranks().
  virtual std::string save() const = 0;
  // Returns this rank's share of a merge over `ranks` ranks, for merge_shares(). May omit content
  // that merge_shares() exchanges by itself. The default returns save().
  virtual std::string save_share(int /*ranks*/) const { return save(); }
  // Replaces the content by the merged results of all ranks' save(), ordered by rank. The result,
  // also an error, depends only on `ranks`, so it is equal to the last bit on every rank, also on a
  // rank without content. Errors: DataLoss for bytes that save() did not write; InvalidArgument,
  // naming the ranks, for parts that cannot be merged. After an error this object is empty.
  virtual absl::Status load_ranks(absl::Span<const absl::string_view> ranks) = 0;
  // Replaces the content as load_ranks(). `shares`: the results of all ranks' save_share().
  // Collective: every rank calls this function with the same shares. Errors: as load_ranks() and
  // Collectives. The default calls load_ranks().
  virtual absl::Status merge_shares(absl::Span<const absl::string_view> shares,
                                    Collectives& /*collectives*/) {
    return load_ranks(shares);
  }
};

// Replaces each of `parts` by its merge over all ranks, with one exchange for the shares of all
// parts, and those of merge_shares(); does nothing with one rank. Collective: every rank calls this
// function at the same point with the same kinds of parts. Errors: as merge_shares().
//
//   RETURN_IF_ERROR(merge_ranks(collectives, {&metrics, &values}));
absl::Status merge_ranks(Collectives& collectives, std::initializer_list<RankPart*> parts);

// Returns the cursors of all ranks, by rank. Collective. Errors: as Collectives; Internal for a
// message that is not a cursor.
absl::StatusOr<std::vector<Cursor>> gather_cursors(const Cursor& own, Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_RANK_PART_H_
