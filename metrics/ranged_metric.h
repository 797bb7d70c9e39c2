// Metrics over many examples that ranks merge by ranges.
#ifndef MILLRACE_METRICS_RANGED_METRIC_H_
#define MILLRACE_METRICS_RANGED_METRIC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "base/byte_stream.h"
#include "metrics/metric.h"

namespace millrace {

// A metric whose value follows from sums over its examples in the order of a key, such as the
// prediction. Each rank owns a range of keys. A rank receives only the examples of its range, and
// the sums pass from rank to rank, so that the operations, and the bits of the value, are those of
// one process. All ranks do, for a metric:
//
//   shares = all_gather(metric.save_share(most))
//   metric.begin_merge()
//   metric.merge_saved(share)                       // for each share, in the order of ranks
//   if (metric.is_partial()) {
//     metric.write_ranges(rank, messages)           // exchange(messages)
//     metric.read_ranges(received)
//     for (root = 0; root < world_size; ++root) {
//       if (rank == root) metric.add_range(&writer)
//       metric.read_sums(&broadcast of root)
//     }
//   }
//   metric.end_merge()
//
// Only compute(), threshold_weights() and reset() may follow a merge by ranges.
class RangedMetric : public Metric {
 public:
  // Returns save(), if there are at most `most` examples. Otherwise the result has their number and
  // quantiles of their keys, and merge_saved() makes the other metric partial.
  virtual std::string save_share(size_t most) const = 0;
  // Removes all examples, but retains them as the examples of this rank until end_merge(). reset()
  // does not remove the retained examples.
  virtual void begin_merge() = 0;
  // Returns true if a merged share lacked examples that the value depends on. The value is
  // not-a-number then.
  virtual bool is_partial() const = 0;
  // Moves the examples of this rank to the messages of the ranks that own them, by rank; appends
  // to the messages as ByteWriter::write_string(). Retains the range of `rank` alone. The ranges
  // follow from the shares, so they are equal on all ranks. Each has at most 1 / W of the examples
  // of W ranks, 2 / kQuantiles more, and the examples of one key.
  virtual void write_ranges(int rank, absl::Span<ByteBuffer> messages) = 0;
  // Adds the strings of the other ranks' write_ranges() for this rank. Errors: DataLoss.
  virtual absl::Status read_ranges(absl::Span<const absl::string_view> received) = 0;
  // Adds the examples of this rank's range to the sums, and writes the sums. Called on each rank in
  // turn, from rank 0.
  virtual void add_range(ByteWriter* writer) = 0;
  // Replaces the sums by those of add_range(). Errors: DataLoss.
  virtual absl::Status read_sums(ByteReader* reader) = 0;
  // Removes the examples that were needed for the merge alone.
  virtual void end_merge() = 0;

  // Number of keys in a share without examples.
  static constexpr size_t kQuantiles = 1024;
};

// Examples that have a key of at most `key`, in addition to those of the entry before.
struct KeyCount {
  uint32_t key = 0;
  uint64_t count = 0;
};

// Returns the number of examples, of `count`, up to the quantile `i`, 0 to kQuantiles.
uint64_t quantile_end(uint64_t count, size_t i);

// Returns the last key of each range but the last, for ranges with nearly equal counts. `counts`
// may be the entries of several ranks in any order.
std::vector<uint32_t> range_bounds(std::vector<KeyCount> counts, int ranges);

}  // namespace millrace

#endif  // MILLRACE_METRICS_RANGED_METRIC_H_
