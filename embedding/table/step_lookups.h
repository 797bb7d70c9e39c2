// The lookups of a step in one table, and their gradients.
#ifndef MILLRACE_EMBEDDING_TABLE_STEP_LOOKUPS_H_
#define MILLRACE_EMBEDDING_TABLE_STEP_LOOKUPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "embedding/rows/kernels.h"
#include "embedding/table/gradient_sums.h"
#include "embedding/table/pooling.h"

namespace millrace {

// The occurrences of ids in all lookups of a step (all features and micro-batches), and their
// gradients. The caller numbers rows. The gradient of a row is the sum of coefficient × gradient
// over its occurrences in the order (lookup, list, place), as Kernels::add_up:
//
//   absl::Span<uint32_t> places = lookups.add(lists);   // lookup 0
//   ... set each place to the number of the row, or kNoPlace, and add to counts() ...
//   lookups.finish(/*all_have_rows=*/true);
//   lookups.set_gradient(0, gradient, stride);         // in any order of lookups
//   if (lookups.gradients_are_finite()) { lookups.add_up(); ... lookups.sums() ... }
//   lookups.clear();
//
// Not thread-safe.
class StepLookups {
 public:
  StepLookups(int64_t dim, const Kernels& kernels);

  // If `mean` is true, divides the sum of a row by its count. Must be called between steps.
  // Default: false.
  void set_mean_gradients(bool mean) { mean_gradients_ = mean; }
  bool mean_gradients() const { return mean_gradients_; }

  // Adds a lookup and returns the places of its occurrences, which the caller must set before the
  // next call. Occurrences with kNoPlace get no gradient. Copies what is needed of `lists`.
  absl::Span<uint32_t> add(const IdLists& lists);
  // Returns true if the output of the last lookup consists of unchanged rows: IdLists::copies().
  bool last_copies() const { return lookups_.back().copies; }
  // Ends the last lookup. `all_have_rows`: true if no place is kNoPlace.
  void finish(bool all_have_rows);
  // Returns the number of occurrences of each row, set by the caller; one element per row.
  std::vector<uint32_t>& counts() { return counts_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

  // Sets the gradient of the output of a lookup, with the layout of the output. Borrowed until
  // clear(). Replaces an earlier gradient.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride);

  // Returns true if the gradients, and their sums for all rows, are finite. Computes and keeps the
  // sums if each gradient belongs to one id with a row (no pooling, or lists of one id without
  // weights), since the sums then cover the gradients, or if sums could overflow.
  bool gradients_are_finite();
  // Adds up the gradients of each row and keeps the sums, once until a gradient or lookup is added.
  // Returns true if the sums are finite.
  bool add_up();
  // Returns the sum of each row; null: no gradient. REQUIRES: add_up() after the last lookup and
  // gradient.
  absl::Span<const float* const> sums() const { return sums_.sums(); }
  // Returns the sum of squares of the sums of all rows, in float64.
  double squared_norm();

  // Reads all sums in order. begin_reading() comes first; then each read() returns the sums of rows
  // [begin, end), at most kReadRows, where `begin` is the `end` of the previous call. Sums of
  // add_up() are read; otherwise sums are computed and valid until the next call.
  static constexpr size_t kReadRows = 16;
  void begin_reading();
  const float* const* read(size_t begin, size_t end);

  int64_t lookups() const { return static_cast<int64_t>(lookups_.size()); }
  // Returns the number of occurrences of ids so far.
  int64_t occurrences() const { return static_cast<int64_t>(places_.size()); }
  // Returns the places of the last lookup.
  absl::Span<const uint32_t> last_places() const {
    return absl::MakeConstSpan(places_).subspan(lookups_.back().first);
  }

  // Forgets everything except the options.
  void clear();

 private:
  struct Lookup {
    IdLists lists;  // after add(), `ids` has only its size
    // Copies of the lists' content, since its owner may change it before the step ends.
    std::vector<int64_t> offsets;  // empty: not needed
    std::vector<float> weights;
    int64_t first = 0;    // index of its first occurrence in places_
    bool copies = false;  // IdLists::copies
    // True if every element of the gradient is a summand of some row's sum, so that finite sums
    // imply a finite gradient.
    bool covered_by_sums = false;
    const float* gradient = nullptr;
    int64_t stride = 0;

    void keep_lists() {
      weights.assign(lists.weights.begin(), lists.weights.end());
      lists.weights = weights;
      if (copies) return;
      offsets.assign(lists.offsets.begin(), lists.offsets.end());
      lists.offsets = offsets;
    }
    // Returns true if all coefficients are 1.
    bool unweighted() const {
      const bool sum = lists.pooling == SUM && lists.weights.empty();
      return copies || sum || lists.pooling == FIRST_N;
    }
  };

  // Returns memory of the thread, shared by its steps so that it stays in the caches. Has no
  // content between calls of StepLookups, which do not nest. Keeps its largest size until the
  // thread ends.
  static SortedSummands& summands_of_thread();

  bool find_finite();
  void forget_sums() {
    added_up_ = false;
    finite_.reset();
  }
  uint32_t largest_magnitude(const Lookup& lookup) const;
  // Returns true if sums of gradients with magnitudes up to `largest` may overflow.
  bool may_overflow(float largest) const;
  void sort_summands(SortedSummands& sorted) const;
  void place_summands(const Lookup& lookup, SortedSummands& sorted) const;
  // Returns true if the sum of a row is divided by more than 1.
  bool divides() const { return mean_gradients_ && places_.size() > counts_.size(); }
  // Prefetches the sums at places [begin, end), as far as they exist.
  void prefetch_sums(size_t begin, size_t end) const;

  const int64_t dim_;
  const Kernels& kernels_;
  std::vector<Lookup> lookups_;
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> places_;  // of each occurrence: number of its row
  bool mean_gradients_ = false;
  std::optional<bool> finite_;  // result of gradients_are_finite()
  bool added_up_ = false;
  bool sums_are_finite_ = false;
  GradientSums sums_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_STEP_LOOKUPS_H_
