#include "io/transform/kernels/log1p_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random/philox.h"

namespace millrace {
namespace {

// Numbers of every magnitude and both signs, and the ends of their range.
std::vector<double> numbers() {
  std::vector<double> all = {
      0, 1, 2, 0x1p-1074, 0x1p53, 0x1p53 + 2, std::numeric_limits<double>::max()};
  for (uint64_t i = 0; i < 100000; ++i) {
    const PhiloxBlock random = philox(7, 0, i);
    const double mantissa = 1 + static_cast<double>(random[0]) * 0x1p-32;
    all.push_back(std::ldexp(mantissa, static_cast<int>(random[1] % 2000) - 1000));
    all.push_back(std::ldexp(mantissa, static_cast<int>(random[2] % 64) - 32));
  }
  for (size_t i = 0; i < all.size(); i += 2) all[i] = -all[i];
  return all;
}

TEST(Log1pKernelsTest, WithinTwoUnitsInTheLastPlace) {
  const std::vector<double> in = numbers();
  std::vector<double> out = in;
  signed_log1p_kernel(InstructionSet::kBaseline)(out.data(), static_cast<int64_t>(out.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const double right = std::copysign(std::log1p(std::abs(in[i])), in[i]);
    const double unit = std::abs(std::nextafter(right, INFINITY) - right);
    ASSERT_LE(std::abs(out[i] - right), 2 * unit) << in[i];
    ASSERT_EQ(std::signbit(out[i]), std::signbit(in[i])) << in[i];
  }
}

TEST(Log1pKernelsTest, EqualOnEveryInstructionSetAndAtEveryPlace) {
  std::vector<double> right = numbers();
  const std::vector<double> in = right;
  for (double& x : right) signed_log1p_kernel(InstructionSet::kBaseline)(&x, 1);
  for (const InstructionSet set : kInstructionSets) {
    if (!has_instruction_set(set)) continue;
    std::vector<double> out = in;
    signed_log1p_kernel(set)(out.data(), static_cast<int64_t>(out.size()));
    EXPECT_EQ(out, right) << name_of(set);
  }
}

}  // namespace
}  // namespace millrace
