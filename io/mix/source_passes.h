// Where ranks stand in a source that begins again whenever it ends.
#ifndef MILLRACE_IO_MIX_SOURCE_PASSES_H_
#define MILLRACE_IO_MIX_SOURCE_PASSES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/cursor.h"

namespace millrace {

// A pass is an epoch of the source of its own: pass p of epoch e is shuffled as epoch e * 2^32 + p.
// Ranks are dealt shares of each pass in turn, so that over several passes all get as much. A rank
// begins the next pass when it is through with its share of one, so ranks may be in different
// passes; after a change of world size, a rank then has shares of several passes left. Its cursor
// is that of the first of them, whose `parts` are the others, one for each pass, in order; of the
// passes behind them it has its whole share.

// REQUIRES: 0 <= epoch < 2^31, 0 <= pass < 2^32.
int64_t pass_epoch(int64_t epoch, int64_t pass);

// The share of a rank of a whole pass. `source_epoch`: pass_epoch().
std::vector<RowInterval> pass_share(int64_t source_epoch, int64_t rows, int64_t rank,
                                    int64_t world_size);

// Where `rank` of now `world_size` ranks goes on in a source of `rows` rows. `cursors`: those of
// the ranks that were, in their order; none for a rank that has nothing left. With as many ranks as
// there were each goes on with its own. Else what all have left of each pass that some rank has
// begun is dealt out anew: each example comes once in every pass.
// Errors: InvalidArgument for cursors that are not of passes of `epoch`, or do not fit each other.
absl::StatusOr<Cursor> go_on_in_passes(absl::Span<const std::optional<Cursor>> cursors,
                                       int64_t epoch, int64_t rows, int64_t rank,
                                       int64_t world_size);

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_SOURCE_PASSES_H_
