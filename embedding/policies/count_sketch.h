// Counts of ids in fixed memory.
#ifndef MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_
#define MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace millrace {

// The state of a sketch, for checkpoints. counters[r] has the counts of the ids whose
// placement_hash begins with the ten bits r, independent of other ranges. So a range can move to
// the rank of its ids.
struct CountSketchState {
  int64_t depth = 0;
  int64_t width = 0;
  std::vector<uint8_t> counters;  // [1024, depth, width]

  friend bool operator==(const CountSketchState&, const CountSketchState&) = default;
};

// A count-min sketch with conservative update (Cormode and Muthukrishnan, "An improved data stream
// summary: the count-min sketch and its applications", 2005; Estan and Varghese, "New directions in
// traffic measurement and accounting", 2002) of 8-bit counters, in 1024 parts by id.
//
// Each id has one counter in each of the `depth` rows of its part; its count is the minimum of
// these counters. count(id) is at least the sum added for the id (up to 255, without halving). It
// is above the sum only if every counter of the id is shared with another id. At most half of a
// part's counters are in use between calls: above half, all counts of the part are halved, rounded
// down, until the limit holds. By the inequality of the means, the probability of an overestimate,
// for an id chosen independently of the hash, is at most
//   2^-depth, with depth = ceil(log2(1 / error_probability)).
// Widths are such that `capacity` ids fit, within five standard deviations of a part, before
// halving. The state depends only on the counts added in each step, not on the order of ids or the
// process.
//
// Const functions are thread-safe while no other function is called.
class CountSketch {
 public:
  // REQUIRES: capacity >= 1, 0 < error_probability < 1.
  CountSketch(int64_t capacity, double error_probability);

  // Returns the estimated count, at most 255.
  uint32_t count(int64_t id) const;

  // Adds counts[i] for ids[i]. REQUIRES: ids are distinct.
  void add(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts);

  void clear();

  // Returns the share of counters in use, at most 1/2 in each part.
  double load() const;
  int64_t bytes() const;

  const CountSketchState& state() const { return state_; }
  // Replaces the state. Errors: InvalidArgument for the state of a sketch of another size, or with
  // a part more than half full; then nothing has changed.
  absl::Status set_state(CountSketchState state);

 private:
  int64_t part_size() const { return state_.depth * state_.width; }
  // Returns the index of the counter of an id in row `row` of its part.
  int64_t place(int64_t id, int64_t row) const;
  void halve_until_half_full(int64_t part);

  CountSketchState state_;
  std::vector<int64_t> used_;  // [1024]: number of non-zero counters
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_
