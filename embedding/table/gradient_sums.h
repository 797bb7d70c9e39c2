// Sums of the gradients of rows.
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

// The summands of the gradients of rows, sorted by row. A stable counting sort: the summands of a
// row keep the order in which they were added.
//
//   sorted.begin(rows);
//   sorted.count(places);               // of all summands, in any number of calls
//   sorted.begin_adding(weighted);
//   sorted.add(place, gradient);        // each counted summand, in order
//   sorted.finish();
class SortedSummands {
 public:
  void begin(size_t rows) { begins_.assign(rows + 1, 0); }
  // Counts one summand for each place; none for kNoPlace.
  void count(absl::Span<const uint32_t> places) {
    for (const uint32_t place : places) {
      if (place != kNoPlace) ++begins_[place + 1];
    }
  }
  // Prepares for add(). If `weighted`, summands have coefficients.
  void begin_adding(bool weighted) {
    for (size_t i = 0; i + 1 < begins_.size(); ++i) begins_[i + 1] += begins_[i];
    gradients_.resize(begins_.back());
    coefficients_.resize(weighted ? begins_.back() : 0);
  }
  bool weighted() const { return !coefficients_.empty(); }
  // Adds a summand. Until finish(), the begin of a row advances with each summand to the begin of
  // the next row.
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
  // Returns the summands of rows [begin, end).
  Summands of(size_t begin, size_t end) const {
    return {gradients_.data(), coefficients_.empty() ? nullptr : coefficients_.data(),
            begins_.data() + begin, static_cast<int64_t>(end - begin), begins_.back()};
  }
  // Returns true if the sum of the row equals a single gradient.
  bool is_one_gradient(size_t row) const {
    const uint32_t begin = begins_[row];
    return begins_[row + 1] - begin == 1 && (coefficients_.empty() || coefficients_[begin] == 1);
  }
  // Returns the number of rows whose sum needs memory: rows with summands, except those of
  // is_one_gradient().
  size_t sums() const;

 private:
  std::vector<uint32_t> begins_;  // [rows + 1]: begin of each row's summands
  std::vector<const float*> gradients_;
  std::vector<float> coefficients_;  // empty: all 1
};

// The sum of the gradients of each row: of up to two summands in float32, of more in float64,
// rounded once (Kernels::add_up). Reuses memory. Not thread-safe.
class GradientSums {
 public:
  GradientSums(int64_t dim, const Kernels& kernels) : dim_(dim), kernels_(kernels) {}

  // Adds up all rows. Borrows the gradients while the sums are used. `divisors`: if not empty, the
  // divisor of each row's sum, in float32. Returns true if all sums are finite before the division.
  bool add_up(const SortedSummands& summands, absl::Span<const uint32_t> divisors = {});
  // Adds up only the rows [begin, end) and returns their sums, which are valid until the next call.
  const float* const* add_up_some(const SortedSummands& summands, size_t begin, size_t end);

  // Returns the sum of each row; null: no summand. REQUIRES: add_up().
  absl::Span<const float* const> sums() const { return sums_; }
  // Returns the sum of squares of all sums, in float64, in the order of rows. REQUIRES: add_up().
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
