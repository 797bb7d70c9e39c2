#include "optim/dense/tensor_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr int64_t kCount = 100'003;

// Products by powers of ten are rounded alike everywhere.
at::Tensor values(at::ScalarType type) { return at::arange(kCount, type).mul(0.1).to(type); }

// The bits were computed apart, by sixteen sums in double. LibTorch's sums of these squares differ
// from them, and for float32 among one, two and four threads.
TEST(TensorNormTest, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const int count : {1, 2, 4}) {
    at::set_num_threads(count);
    EXPECT_EQ(sum_of_squares(values(at::kFloat)).item<double>(), 0x1.8414876b2ca6cp+41);
    EXPECT_EQ(sum_of_squares(values(at::kDouble)).item<double>(), 0x1.8414867ff6066p+41);
    EXPECT_EQ(sum_of_squares(values(at::kFloat).to(at::kBFloat16)).item<double>(),
              0x1.841458a3c53e7p+41);
  }
  at::set_num_threads(threads);
}

TEST(TensorNormTest, TakesAnyShapeAndMemoryLayout) {
  const at::Tensor matrix = values(at::kFloat).narrow(0, 0, 100'000).view({250, 400});
  const at::Tensor transposed = matrix.t().contiguous().t();  // the same numbers in other memory
  ASSERT_FALSE(transposed.is_contiguous());
  EXPECT_TRUE(sum_of_squares(transposed).equal(sum_of_squares(matrix)));
  EXPECT_EQ(sum_of_squares(at::scalar_tensor(-3.0, at::kFloat)).item<double>(), 9);
  EXPECT_EQ(sum_of_squares(at::empty({0, 4})).item<double>(), 0);
}

}  // namespace
}  // namespace millrace
