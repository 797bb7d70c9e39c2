// The positions of ranks in a source that repeats.
#ifndef MILLRACE_IO_MIX_SOURCE_PASSES_H_
#define MILLRACE_IO_MIX_SOURCE_PASSES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/cursor.h"

namespace millrace {

// A pass is a separate epoch of the source: pass p of epoch e is shuffled as epoch e * 2^32 + p.
// Ranks are dealt shares of each pass in turn, so that over several passes all get as much. A rank
// begins the next pass after finishing its share of a pass, so ranks may be in different passes;
// after a change of world size, a rank then has shares of several passes left. Its position names
// them, in order; of the passes behind them it has its whole share.

// REQUIRES: 0 <= epoch < 2^31, 0 <= pass < 2^32.
int64_t pass_epoch(int64_t epoch, int64_t pass);

// The share of a rank of a whole pass. `source_epoch`: pass_epoch().
std::vector<RowInterval> pass_share(int64_t source_epoch, int64_t rows, int64_t rank,
                                    int64_t world_size);

// Returns where `rank` of now `world_size` ranks continues in a source of `rows` rows. `ranks`: the
// positions of all former ranks, in order; empty for a rank that has nothing left. With as many as
// before, each continues with its own. Else the rows that all have left of each pass that some rank
// has begun are dealt again: each example occurs once in every pass.
// Errors: InvalidArgument for positions that are not of passes of `epoch`, or contradict each
// other.
absl::StatusOr<SourcePosition> resume_passes(absl::Span<const SourcePosition> ranks, int64_t epoch,
                                             int64_t rows, int64_t rank, int64_t world_size);

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_SOURCE_PASSES_H_
