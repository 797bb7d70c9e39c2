#include "embedding/table/gradient_sums.h"

#include <cmath>
#include <functional>

#include "absl/base/casts.h"

namespace millrace {

size_t SortedSummands::sums() const {
  size_t count = 0;
  for (size_t row = 0; row < rows(); ++row) {
    count += begins_[row + 1] != begins_[row] && !is_one_gradient(row) ? 1 : 0;
  }
  return count;
}

bool GradientSums::add_up(const SortedSummands& summands, absl::Span<const uint32_t> divisors) {
  const size_t rows = summands.rows(), sums = summands.sums();
  size_t divided = 0;  // single gradients that need memory for their quotient
  for (size_t row = 0; row < divisors.size(); ++row) {
    divided += divisors[row] > 1 && summands.is_one_gradient(row) ? 1 : 0;
  }
  sums_.resize(rows);
  provide_memory(sums + divided);
  const uint32_t largest = kernels_.add_up(summands.of(0, rows), dim_, sums_.data(), memory_.data(),
                                           /*wants_largest=*/true);
  if (!divisors.empty()) divide(divisors, memory_.data() + sums * dim_);
  return std::isfinite(absl::bit_cast<float>(largest));
}

void GradientSums::divide(absl::Span<const uint32_t> divisors, float* free_memory) {
  const std::less<const float*> before;
  const float* const begin = memory_.data();
  const float* const end = free_memory;
  for (size_t row = 0; row < sums_.size(); ++row) {
    const float* const sum = sums_[row];
    if (sum == nullptr || divisors[row] <= 1) continue;
    const auto divisor = static_cast<float>(divisors[row]);
    const bool own = !before(sum, begin) && before(sum, end);
    float* const to = own ? memory_.data() + (sum - begin) : free_memory;
    for (int64_t c = 0; c < dim_; ++c) to[c] = sum[c] / divisor;
    if (!own) free_memory += dim_;
    sums_[row] = to;
  }
}

const float* const* GradientSums::add_up_some(const SortedSummands& summands, size_t begin,
                                              size_t end) {
  if (sums_.size() < end - begin) sums_.resize(end - begin);
  provide_memory(end - begin);
  kernels_.add_up(summands.of(begin, end), dim_, sums_.data(), memory_.data(),
                  /*wants_largest=*/false);
  return sums_.data();
}

void GradientSums::provide_memory(size_t sums) {
  const size_t numbers = sums * dim_;
  if (memory_.size() >= numbers) return;
  memory_ = std::vector<float>();  // frees first, so that resize() copies nothing
  memory_.resize(numbers);
}

double GradientSums::squared_norm() const {
  return kernels_.sum_of_squares(sums_.data(), static_cast<int64_t>(sums_.size()), dim_);
}

}  // namespace millrace
