// Gradients of rows, added up.
#ifndef MILLRACE_EMBEDDING_TABLE_GRADIENT_SUMS_H_
#define MILLRACE_EMBEDDING_TABLE_GRADIENT_SUMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "embedding/id_map/id_map.h"
#include "embedding/rows/kernels.h"

namespace millrace {

// The summands of the gradients of rows, sorted by row. A counting sort, stable: within a row they
// keep the order in which they were added.
//
//   sorted.begin(rows);
//   sorted.count(places);               // of all summands, in any number of calls
//   sorted.begin_adding(weighted);
//   sorted.add(place, gradient);        // each of those that were counted, in order
//   sorted.finish();
class SortedSummands {
 public:
  void begin(size_t rows) { begins_.assign(rows + 1, 0); }
  // Counts a summand for each place; none for kNoPlace.
  void count(absl::Span<const uint32_t> places) {
    for (const uint32_t place : places) {
      if (place != kNoPlace) ++begins_[place + 1];
    }
  }
  // `weighted`: summands come with coefficients.
  void begin_adding(bool weighted) {
    for (size_t i = 0; i + 1 < begins_.size(); ++i) begins_[i + 1] += begins_[i];
    gradients_.resize(begins_.back());
    coefficients_.resize(weighted ? begins_.back() : 0);
  }
  bool weighted() const { return !coefficients_.empty(); }
  // Each begin moves to its end, which is the next row's begin, until finish().
  void add(uint32_t place, const float* gradient) { gradients_[begins_[place]++] = gradient; }
  void add(uint32_t place, const float* gradient, float coefficient) {
    const uint32_t at = begins_[place]++;
    gradients_[at] = gradient;
    coefficients_[at] = coefficient;
  }
  void finish() {
    std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
    begins_[0] = 0;
  }

  size_t rows() const { return begins_.size() - 1; }
  // Of rows [begin, end).
  Summands of(size_t begin, size_t end) const {
    return {gradients_.data(), coefficients_.empty() ? nullptr : coefficients_.data(),
            begins_.data() + begin, static_cast<int64_t>(end - begin), begins_.back()};
  }
  // True if the sum of the row is a gradient as it is.
  bool is_one_gradient(size_t row) const {
    const uint32_t begin = begins_[row];
    return begins_[row + 1] - begin == 1 && (coefficients_.empty() || coefficients_[begin] == 1);
  }
  // Returns how many rows have a sum that is not a gradient as it is.
  size_t sums() const;

 private:
  std::vector<uint32_t> begins_;  // [rows + 1]: where the summands of each row begin
  std::vector<const float*> gradients_;
  std::vector<float> coefficients_;  // empty: all 1
};

// The sum of the gradients of each row: up to two summands in float32, more in double, rounded once
// (Kernels::add_up). Memory is kept for the next sums. For one thread.
class GradientSums {
 public:
  GradientSums(int64_t dim, const Kernels& kernels) : dim_(dim), kernels_(kernels) {}

  // Adds up all rows. Gradients are borrowed for as long as the sums are used. `divisors`, if not
  // empty: one of each row, by which its sum is divided, in float32. Returns true if all sums are
  // finite.
  bool add_up(const SortedSummands& summands, absl::Span<const uint32_t> divisors = {});
  // Adds up rows [begin, end) alone and returns their sums, which the next call replaces.
  const float* const* add_up_some(const SortedSummands& summands, size_t begin, size_t end);

  // The sum of each row; null: no summand. REQUIRES: add_up().
  absl::Span<const float* const> sums() const { return sums_; }
  // The sum of squares of all sums, in double, in the order of rows. REQUIRES: add_up().
  double squared_norm() const;

 private:
  void provide_memory(size_t sums);
  void divide(absl::Span<const uint32_t> divisors, float* free_memory);

  const int64_t dim_;
  const Kernels& kernels_;
  std::vector<const float*> sums_;  // in memory_, or the only summand, or null
  std::vector<float> memory_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_GRADIENT_SUMS_H_
