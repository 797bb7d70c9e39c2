// Cuts several sources into batches with a share of each source.
#ifndef MILLRACE_IO_MIX_MIX_BATCHER_H_
#define MILLRACE_IO_MIX_MIX_BATCHER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "io/batch.h"
#include "io/cursor.h"
#include "io/mix/mix_source_reader.h"
#include "proto/config.pb.h"

namespace millrace {

struct MixOptions {
  int64_t batch_size = 1;
  bool drop_remainder = false;
  MixConfig::Until until = MixConfig::FIRST_ENDS;
  std::vector<double> proportions;  // of each source
  int64_t rank = 0;
  int64_t world_size = 1;
};

// Makes batches that hold the rows of source after source, each batch with the following cursor.
// The contents of a batch follow from its number in the epoch (MixPosition::batches), from the
// rank, and from the rows left in the sources, so resuming from its cursor gives the batches that
// would have followed. Used by one thread.
//
// All batches but the last are full, and hold the shares of io/mix/mix_shares.h. When a source that
// does not repeat has fewer rows left than its share:
//   FIRST_ENDS: this is the last batch, smaller by as much for all sources, rounded down.
//   ALL_END: the others fill its place, in their proportions. In the last batch, those that repeat
//   fill no place, and have less by as much as the others.
class MixBatcher {
 public:
  // `sources` must outlive the batcher, and be positioned as `start` says. `cursor` gives the epoch
  // and fingerprint of the batches.
  // REQUIRES: as many sources, at least one of which does not repeat, as proportions and sources of
  // `start`.
  MixBatcher(MixOptions options, std::vector<MixSourceReader*> sources, MixPosition start,
             Cursor cursor);

  // Returns the next batch; none at the end, where a partial batch may be dropped.
  // Errors: as the sources.
  absl::StatusOr<std::optional<Batch>> next();

 private:
  using Counts = std::vector<int64_t>;  // of rows, for each source

  // Return the row counts of the next batch, with all these rows ready; all zero at the end.
  absl::StatusOr<Counts> until_first_ends();
  absl::StatusOr<Counts> until_all_end();
  absl::StatusOr<std::vector<bool>> find_those_left();
  Counts shares(const std::vector<bool>& among, int64_t size) const;
  bool all_repeat(const std::vector<bool>& among) const;
  void shrink_repeating(const Counts& wanted, Counts* counts) const;

  const MixOptions options_;
  const std::vector<MixSourceReader*> sources_;
  MixPosition position_;
  const Cursor cursor_;  // of each batch, without its position
};

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_MIX_BATCHER_H_
