// Counts of ids in fixed memory.
#ifndef MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_
#define MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace millrace {

// What a sketch holds, for checkpoints. The ids whose placement_hash begins with the ten bits r
// have their counts in counters[r], whatever the other ranges hold: a range goes to the rank of its
// ids.
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
// Each id has one counter in each of `depth` rows of its part, and its count is the least of them.
// count(id) is never below what was added for it (up to 255), and above it only if every one of
// its counters serves another id too. At most half of the counters of a part are in use between
// calls (beyond, all its counts are halved, rounded down, until that holds), so by the inequality
// of the means the probability of that, for an id chosen without regard to the hash, is at most
//   2^-depth, with depth = ceil(log2(1 / error_probability)).
// Widths are such that `capacity` ids fit, to five standard deviations of a part, before anything
// is halved. What is held follows from what was added in which step alone: not from the order of
// ids, nor from this process.
//
// Const methods may be called from many threads while nobody changes the sketch.
class CountSketch {
 public:
  // REQUIRES: capacity >= 1, 0 < error_probability < 1.
  CountSketch(int64_t capacity, double error_probability);

  // At most 255.
  uint32_t count(int64_t id) const;

  // Adds counts[i] for ids[i]. REQUIRES: ids are distinct.
  void add(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts);

  void clear();

  // The share of counters in use, at most 1/2 in each part.
  double load() const;
  int64_t bytes() const;

  const CountSketchState& state() const { return state_; }
  // Errors: InvalidArgument for the state of a sketch of another size, or one in which a part is
  // more than half full; nothing changes then.
  absl::Status set_state(CountSketchState state);

 private:
  int64_t part_size() const { return state_.depth * state_.width; }
  // The place of the counter of an id in row `row` of its part.
  int64_t place(int64_t id, int64_t row) const;
  void halve_until_half_full(int64_t part);

  CountSketchState state_;
  std::vector<int64_t> used_;  // [1024]: counters that are not 0
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_COUNT_SKETCH_H_
