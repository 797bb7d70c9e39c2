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

// Every occurrence of an id in the lookups of a step (all its features and micro-batches), and the
// gradients that came back. Rows are numbered by whoever looks up; the gradient of a row is the sum
// of coefficient × gradient over its occurrences in the order (lookup, list, place), as
// Kernels::add_up does:
//
//   absl::Span<uint32_t> places = lookups.add(lists);   // lookup 0
//   ... set each place to the number of the row, or kNoPlace, and count in counts() ...
//   lookups.finish(/*all_have_rows=*/true);
//   lookups.set_gradient(0, gradient, stride);          // in any order of lookups
//   if (lookups.gradients_are_finite()) { lookups.add_up(); ... lookups.sums() ... }
//   lookups.clear();
//
// For one thread.
class StepLookups {
 public:
  StepLookups(int64_t dim, const Kernels& kernels);

  // Chooses whether the sum of a row is divided by its count. Between steps. Default: false.
  void set_mean_gradients(bool mean) { mean_gradients_ = mean; }
  bool mean_gradients() const { return mean_gradients_; }

  // Adds a lookup and returns the places of its occurrences, which the caller sets before the next
  // call. Occurrences without a place get no gradient. `lists` and what it shows need not stay.
  absl::Span<uint32_t> add(const IdLists& lists);
  // True if rows of the output of the last lookup are rows as they are: IdLists::copies().
  bool last_copies() const { return lookups_.back().copies; }
  // Ends the last lookup. `all_have_rows`: no place is kNoPlace.
  void finish(bool all_have_rows);
  // How often each row occurred; as long as there are rows. For the caller to set.
  std::vector<uint32_t>& counts() { return counts_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

  // The derivative of the loss by what that lookup put out, laid out like it, borrowed until
  // clear(). Replaces an earlier one.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride);

  // Returns true if the gradients that were set, and their sums for all rows, are finite. Where
  // each gradient belongs to one id that has a row (no pooling, or lists of one id without
  // weights), and where sums might overflow, the sums are made for that, and kept.
  bool gradients_are_finite();
  // Adds up the gradients of each row and keeps the sums, unless that has been done. Returns true
  // if they are finite.
  bool add_up();
  // The sum of each row; null: no gradient. REQUIRES: add_up(), and nothing came since.
  absl::Span<const float* const> sums() const { return sums_.sums(); }
  // The sum of squares of the sums of all rows, in double.
  double squared_norm();

  // For a reader of all sums in order: begins, then reads those of rows [begin, end), at most
  // kReadRows, each time going on where the last call ended. Sums that were kept are read; others
  // are made now, and stay until the next call.
  static constexpr size_t kReadRows = 16;
  void begin_reading();
  const float* const* read(size_t begin, size_t end);

  int64_t lookups() const { return static_cast<int64_t>(lookups_.size()); }
  // Occurrences of ids so far.
  int64_t occurrences() const { return static_cast<int64_t>(places_.size()); }
  // Of the last lookup.
  absl::Span<const uint32_t> last_places() const {
    return absl::MakeConstSpan(places_).subspan(lookups_.back().first);
  }

  // Forgets everything but the options.
  void clear();

 private:
  struct Lookup {
    IdLists lists;  // after add(), of the ids only how many there are
    // What lists shows: its owner may change it before the step ends.
    std::vector<int64_t> offsets;  // empty: not needed
    std::vector<float> weights;
    int64_t first = 0;    // its first occurrence in places_
    bool copies = false;  // IdLists::copies
    // True if each number of the gradient has a part in the sum of a row, so that finite sums imply
    // a finite gradient.
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
    // True if all coefficients are 1.
    bool unweighted() const {
      const bool sum = lists.pooling == SUM && lists.weights.empty();
      return copies || sum || lists.pooling == FIRST_N;
    }
  };

  // Memory of a thread with which its steps take turns, so that it stays in the caches. Holds
  // nothing between calls, which do not nest; keeps its largest size until the thread ends.
  static SortedSummands& summands_of_thread();

  bool find_finite();
  void forget_sums() {
    added_up_ = false;
    finite_.reset();
  }
  uint32_t largest_magnitude(const Lookup& lookup) const;
  // True if sums of gradients up to that magnitude may be infinite.
  bool may_overflow(float largest) const;
  void sort_summands(SortedSummands& sorted) const;
  void place_summands(const Lookup& lookup, SortedSummands& sorted) const;
  // True if the sum of a row is divided by more than 1.
  bool divides() const { return mean_gradients_ && places_.size() > counts_.size(); }
  // Have the sums at these places, if there are so many, fetched.
  void prefetch_sums(size_t begin, size_t end) const;

  const int64_t dim_;
  const Kernels& kernels_;
  std::vector<Lookup> lookups_;
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> places_;  // of each occurrence: the number of its row
  bool mean_gradients_ = false;
  std::optional<bool> finite_;  // what gradients_are_finite said
  bool added_up_ = false;
  bool sums_are_finite_ = false;
  GradientSums sums_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_STEP_LOOKUPS_H_
