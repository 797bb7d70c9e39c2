#include "embedding/rows/kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using Bytes = std::vector<char>;

constexpr RowType kTypes[] = {RowType::kFloat32, RowType::kFloat16, RowType::kBfloat16};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<InstructionSet> sets_here() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : kInstructionSets) {
    if (has_instruction_set(set)) sets.push_back(set);
  }
  return sets;
}

std::vector<float> random_floats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-scale, scale);
  std::vector<float> values(count);
  for (float& v : values) v = value(random);
  return values;
}

// Returns a row with these weights.
Bytes row_of(const Kernels& kernels, RowType type, const std::vector<float>& weights) {
  Bytes row(weights.size() * row_type_bytes(type));
  kernels.round_to_nearest[static_cast<int>(type)](weights.data(), weights.size(), row.data());
  return row;
}
std::vector<float> weights_of(const Kernels& kernels, RowType type, const Bytes& row) {
  std::vector<float> weights(row.size() / row_type_bytes(type));
  kernels.widen[static_cast<int>(type)](row.data(), weights.size(), weights.data());
  return weights;
}
float nearest(RowType type, float value) {
  const Kernels& kernels = millrace::kernels(InstructionSet::kBaseline);
  return weights_of(kernels, type, row_of(kernels, type, {value}))[0];
}

class KernelsTest : public testing::TestWithParam<InstructionSet> {
 protected:
  KernelsTest() : kernels_(kernels(GetParam())), baseline_(kernels(InstructionSet::kBaseline)) {}
  const Kernels& kernels_;
  const Kernels& baseline_;
};

TEST_P(KernelsTest, SeesWhetherOffsetsAreInOrderAndListsHaveOneId) {
  constexpr int64_t kLists = 37;  // whole vectors and a rest
  std::vector<int64_t> offsets(kLists + 1);
  const auto seen = [&] { return kernels_.look_at_lists(offsets.data(), kLists); };
  for (int64_t i = 0; i <= kLists; ++i) offsets[i] = 5 + i;
  EXPECT_TRUE(seen().in_order && seen().one_id_each);
  for (int64_t i = 1; i <= kLists; ++i) {
    const int64_t right = offsets[i];
    offsets[i] = right - 1;  // an empty list, then a list of two
    EXPECT_TRUE(seen().in_order) << i;
    EXPECT_FALSE(seen().one_id_each) << i;
    for (const int64_t wrong : {offsets[i - 1] - 1, int64_t{-1}, INT64_MIN}) {
      offsets[i] = wrong;
      EXPECT_FALSE(seen().in_order) << i << ' ' << wrong;
    }
    offsets[i] = right;
  }
  EXPECT_TRUE(kernels_.look_at_lists(offsets.data(), 0).in_order);
  EXPECT_TRUE(kernels_.look_at_lists(offsets.data(), 0).one_id_each);
}

TEST_P(KernelsTest, PoolsLikeAPlainLoop) {
  for (const RowType type : kTypes) {
    const auto t = static_cast<int>(type);
    for (int64_t dim = 1; dim <= 130; ++dim) {
      std::vector<Bytes> rows;
      std::vector<const char*> pointers;
      for (uint32_t i = 0; i < 5; ++i)
        rows.push_back(row_of(baseline_, type, random_floats(dim, i)));
      for (const Bytes& row : rows) pointers.push_back(row.data());
      const std::vector<float> weights = random_floats(5, 9);
      for (int64_t count = 1; count <= 5; ++count) {
        for (const float* w : {static_cast<const float*>(nullptr), weights.data()}) {
          const auto divisor = static_cast<float>(count > 2 ? count : 1);
          std::vector<float> expected(dim);
          for (int64_t c = 0; c < dim; ++c) {
            for (int64_t i = 0; i < count; ++i) {
              const float value = weights_of(baseline_, type, rows[i])[c] * (w ? w[i] : 1);
              expected[c] = i == 0 ? value : expected[c] + value;
            }
            expected[c] /= divisor;
          }
          for (const bool past_caches : {false, true}) {
            // Aligned to a cache line, or not.
            std::vector<float> memory(dim + 20, -7);
            float* output = memory.data();
            while (reinterpret_cast<uintptr_t>(output) % 64 != 0) ++output;
            for (const int shift : {0, 1}) {
              kernels_.pool_rows[t](pointers.data(), w, count, dim, divisor, output + shift,
                                    past_caches);
              ASSERT_EQ(std::vector<float>(output + shift, output + shift + dim), expected)
                  << "dim " << dim << ", count " << count;
              ASSERT_EQ(output[shift + dim], -7);
            }
          }
        }
      }
    }
  }
}

TEST_P(KernelsTest, CopiesIntoAnyPlace) {
  for (const RowType type : kTypes) {
    for (const int64_t dim : {1, 7, 16, 32, 48, 64, 80, 100, 128}) {
      std::vector<Bytes> rows;
      std::vector<const char*> pointers;
      for (uint32_t i = 0; i < 9; ++i)
        rows.push_back(row_of(baseline_, type, random_floats(dim, i)));
      for (const Bytes& row : rows) pointers.push_back(row.data());
      for (const int64_t stride : {dim, dim + 3, dim + 16}) {
        for (const int64_t shift : {0, 1, 16}) {
          for (const bool past_caches : {false, true}) {
            std::vector<float> memory(9 * stride + shift + 32, -7);
            // Aligned to a cache line, then shifted.
            float* output = memory.data();
            while (reinterpret_cast<uintptr_t>(output) % 64 != 0) ++output;
            output += shift;
            kernels_.copy_rows[static_cast<int>(type)](pointers.data(), 9, dim, output, stride,
                                                       past_caches);
            for (int64_t i = 0; i < 9; ++i) {
              const std::vector<float> expected = weights_of(baseline_, type, rows[i]);
              ASSERT_EQ(std::vector<float>(output + i * stride, output + i * stride + dim),
                        expected);
              if (i < 8 && stride > dim) {
                ASSERT_EQ(output[i * stride + dim], -7);
              }
            }
          }
        }
      }
    }
  }
}

// Gradients of rows with any number of summands, and the results of Kernels::add_up.
struct AddedUp {
  std::vector<std::vector<float>> gradients;
  std::vector<const float*> pointers;
  std::vector<float> coefficients;  // empty: all 1
  std::vector<uint32_t> begins = {0};

  std::vector<const float*> sums;
  std::vector<float> memory;
  uint32_t largest = 0;

  AddedUp(const std::vector<uint32_t>& counts, int64_t dim, bool weighted) {
    for (const uint32_t count : counts) begins.push_back(begins.back() + count);
    for (uint32_t i = 0; i < begins.back(); ++i) {
      gradients.push_back(random_floats(dim, i, i % 20 == 3 ? 1e8f : 1));
      if (i % 7 == 0) gradients[i][dim - 1] = -0.0f;
      gradients[i][dim / 2] = -0.0f;  // of all summands
      if (weighted) coefficients.push_back(i % 3 == 0 ? 0.1f : 1.0f);
    }
    for (const std::vector<float>& gradient : gradients) pointers.push_back(gradient.data());
  }
  void add_up(const Kernels& kernels, int64_t dim, bool wants_largest) {
    const auto rows = static_cast<int64_t>(begins.size()) - 1;
    sums.assign(rows, nullptr);
    memory.assign(rows * dim, 0);
    largest = kernels.add_up({pointers.data(), coefficients.empty() ? nullptr : coefficients.data(),
                              begins.data(), rows, begins.back()},
                             dim, sums.data(), memory.data(), wants_largest);
  }
  // Returns the sum of one column of a row by definition.
  float expected(size_t row, int64_t column) const {
    double total = -0.0;  // the neutral element, also for -0.0
    const auto product = [&](uint32_t i) {
      return gradients[i][column] * (coefficients.empty() ? 1 : coefficients[i]);
    };
    if (begins[row + 1] - begins[row] == 2) return product(begins[row]) + product(begins[row] + 1);
    for (uint32_t i = begins[row]; i < begins[row + 1]; ++i) total += product(i);
    return static_cast<float>(total);
  }
};

uint32_t bits_of(float value) {
  uint32_t result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

TEST_P(KernelsTest, AddsUpTwoInFloatAndMoreInDoubleInOrder) {
  const std::vector<uint32_t> counts = {1, 2, 0, 3, 7, 1, 0, 8, 9, 15, 16, 17, 27, 2, 1};
  for (int64_t dim = 1; dim <= 130; ++dim) {
    for (const bool weighted : {false, true}) {
      AddedUp added(counts, dim, weighted);
      added.add_up(kernels_, dim, /*wants_largest=*/true);
      const float* next = added.memory.data();
      uint32_t largest = 0;
      for (size_t r = 0; r < counts.size(); ++r) {
        if (counts[r] == 0) {
          ASSERT_EQ(added.sums[r], nullptr);
          continue;
        }
        if (counts[r] == 1 && (!weighted || added.coefficients[added.begins[r]] == 1)) {
          ASSERT_EQ(added.sums[r], added.pointers[added.begins[r]]);
        } else {
          ASSERT_EQ(added.sums[r], next);
          next += dim;
        }
        for (int64_t c = 0; c < dim; ++c) {
          const float expected = added.expected(r, c);
          ASSERT_EQ(bits_of(added.sums[r][c]), bits_of(expected))
              << "dim " << dim << ", row " << r << ", column " << c;
          largest = std::max(largest, bits_of(std::fabs(expected)));
        }
      }
      EXPECT_EQ(added.largest, largest) << "dim " << dim;
      const std::vector<float> memory = added.memory;
      added.add_up(kernels_, dim, /*wants_largest=*/false);
      EXPECT_EQ(added.memory, memory);
    }
  }
}

TEST_P(KernelsTest, ManySummandsThatNearlyCancelKeepTheirDigits) {
  constexpr int64_t kDim = 19;
  AddedUp added({20000}, kDim, /*weighted=*/false);
  for (uint32_t i = 0; i < 20000; ++i) {
    const std::vector<float> values = random_floats(kDim, i);
    std::copy(values.begin(), values.end(), added.gradients[i].begin());
  }
  added.add_up(kernels_, kDim, /*wants_largest=*/false);
  for (int64_t c = 0; c < kDim; ++c) {
    double sum = 0, magnitudes = 0;
    for (const std::vector<float>& gradient : added.gradients) {
      sum += gradient[c];
      magnitudes += std::fabs(gradient[c]);
    }
    EXPECT_EQ(added.sums[0][c], static_cast<float>(sum)) << "column " << c;
    EXPECT_GT(magnitudes, 10 * std::fabs(sum)) << "they are to cancel";
  }
}

TEST_P(KernelsTest, SumsTellOfWhatIsNotFinite) {
  for (const int64_t dim : {1, 5, 16, 21, 64, 70}) {
    for (const uint32_t count : {1u, 2u, 3u, 6u}) {
      for (uint32_t at = 0; at < count; ++at) {
        for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
          AddedUp added({2, count, 1}, dim, /*weighted=*/false);
          added.gradients[2 + at][dim - 1] = value;
          added.add_up(kernels_, dim, /*wants_largest=*/true);
          EXPECT_GE(added.largest, bits_of(kInfinity)) << dim << ", " << at << " of " << count;
        }
      }
    }
    // Finite summands with an infinite sum.
    AddedUp added({1, 2}, dim, /*weighted=*/false);
    for (std::vector<float>& gradient : added.gradients) gradient[0] = -3e38f;
    added.add_up(kernels_, dim, /*wants_largest=*/true);
    EXPECT_EQ(added.largest, bits_of(kInfinity)) << dim;
  }
}

TEST_P(KernelsTest, FindsTheLargestMagnitudeAnywhere) {
  EXPECT_EQ(kernels_.largest_magnitude(nullptr, 0, 5, 5), 0);
  for (int64_t dim = 1; dim <= 75; ++dim) {
    const int64_t stride = dim + dim % 3;
    std::vector<float> values = random_floats(2 * stride, static_cast<uint32_t>(dim));
    for (int64_t at = 0; at < 2 * dim; ++at) {
      float& place = values[at / dim * stride + at % dim];
      const float before = place;
      for (const float value : {-3.5f, kInfinity, -kInfinity, std::nanf("")}) {
        place = value;
        const uint32_t largest = kernels_.largest_magnitude(values.data(), 2, stride, dim);
        ASSERT_EQ(largest, bits_of(std::fabs(value))) << at << " of two rows of " << dim;
      }
      place = before;
    }
    // Ignores values between rows.
    if (stride == dim) continue;
    values[dim] = kInfinity;
    EXPECT_LT(kernels_.largest_magnitude(values.data(), 2, stride, dim), bits_of(3.5f));
  }
}

// Sums in the order of row_math.h: sixteen lanes, then halves of the lanes, then rows.
TEST_P(KernelsTest, SumsSquaresInOneOrder) {
  for (const int64_t dim : {1, 15, 16, 17, 33, 64}) {
    std::vector<std::vector<float>> rows(3, std::vector<float>(dim));
    double expected = 0;
    for (std::vector<float>& row : rows) {
      double lanes[16] = {};
      for (int64_t c = 0; c < dim; ++c) {
        row[c] = 0.1f * static_cast<float>(c + 1) - static_cast<float>(&row - rows.data());
        lanes[c % 16] += double{row[c]} * double{row[c]};
      }
      for (int width = 8; width >= 1; width /= 2) {
        for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
      }
      expected += lanes[0];
    }
    const float* const pointers[] = {nullptr, rows[0].data(), rows[1].data(), nullptr,
                                     rows[2].data()};
    EXPECT_EQ(kernels_.sum_of_squares(pointers, 5, dim), expected) << dim;
  }
  EXPECT_EQ(kernels_.sum_of_squares(nullptr, 0, 4), 0);
}

TEST_P(KernelsTest, EveryHalfIsWidenedAndKept) {
  for (const RowType type : {RowType::kFloat16, RowType::kBfloat16}) {
    Bytes row(2 << 16);
    for (uint32_t i = 0; i < 1 << 16; ++i) {
      const auto half = static_cast<uint16_t>(i);
      std::memcpy(row.data() + 2 * i, &half, 2);
    }
    const std::vector<float> weights = weights_of(kernels_, type, row);
    for (uint32_t i = 0; i < 1 << 16; ++i) {
      const int exponent_bits = type == RowType::kFloat16 ? 5 : 8,
                mantissa_bits = 15 - exponent_bits;
      const uint32_t mantissa = i & ((1u << mantissa_bits) - 1);
      const auto exponent = static_cast<int>(i >> mantissa_bits & ((1u << exponent_bits) - 1));
      const int bias = (1 << (exponent_bits - 1)) - 1;
      double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                   : std::ldexp((1u << mantissa_bits) + mantissa,
                                                exponent - bias - mantissa_bits);
      if (exponent == (1 << exponent_bits) - 1) value = mantissa == 0 ? kInfinity : std::nan("");
      if (i >> 15 != 0) value = -value;
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(weights[i])) << i;
      } else {
        ASSERT_EQ(weights[i], value) << i;
        ASSERT_EQ(std::signbit(weights[i]), i >> 15 != 0) << i;
      }
    }
    const Bytes back = row_of(kernels_, type, weights);
    for (uint32_t i = 0; i < 1 << 16; ++i) {
      if (std::isnan(weights[i])) continue;
      ASSERT_EQ(std::memcmp(&back[2 * i], &row[2 * i], 2), 0) << i;
    }
  }
}

TEST_P(KernelsTest, RoundsToTheNearestAndHalvesToEven) {
  for (const RowType type : {RowType::kFloat16, RowType::kBfloat16}) {
    std::mt19937 random(5);
    std::vector<float> weights;
    for (int i = 0; i < 20000; ++i) {
      const uint32_t bits = random();
      float value;
      std::memcpy(&value, &bits, 4);
      if (std::isfinite(value) && std::fabs(value) < 60000) weights.push_back(value);
      weights.push_back(std::ldexp(static_cast<float>(random() % 4096) + 0.5f, -24 - int(i % 8)));
    }
    const std::vector<float> rounded = weights_of(kernels_, type, row_of(kernels_, type, weights));
    for (size_t i = 0; i < weights.size(); ++i) {
      // No other number of the type is nearer.
      Bytes row = row_of(baseline_, type, {rounded[i]});
      uint16_t half;
      std::memcpy(&half, row.data(), 2);
      const double error = std::fabs(double{rounded[i]} - weights[i]);
      for (const int step : {-1, 1}) {
        if ((half & 0x7fff) == 0 && step < 0) continue;
        const auto other = static_cast<uint16_t>(half + step);
        std::memcpy(row.data(), &other, 2);
        const double distance = std::fabs(double{weights_of(baseline_, type, row)[0]} - weights[i]);
        ASSERT_LE(error, distance) << weights[i];
        if (error == distance) {
          ASSERT_EQ(half % 2, 0) << weights[i];
        }
      }
    }
  }
}

TEST_P(KernelsTest, NumbersOutOfRange) {
  const std::vector<float> weights = {1e6f,       -65519.99f,    65520.0f,      kInfinity,
                                      -kInfinity, std::nanf(""), 3.4028235e38f, -3.4e38f};
  const std::vector<float> half =
      weights_of(kernels_, RowType::kFloat16, row_of(kernels_, RowType::kFloat16, weights));
  EXPECT_EQ(half[0], 65504);
  EXPECT_EQ(half[1], -65504);
  EXPECT_EQ(half[2], 65504);
  EXPECT_EQ(half[3], kInfinity);
  EXPECT_EQ(half[4], -kInfinity);
  EXPECT_TRUE(std::isnan(half[5]));
  const std::vector<float> brain =
      weights_of(kernels_, RowType::kBfloat16, row_of(kernels_, RowType::kBfloat16, weights));
  EXPECT_EQ(brain[3], kInfinity);
  EXPECT_TRUE(std::isnan(brain[5]));
  EXPECT_EQ(brain[6], 3.3895314e38f);
  EXPECT_EQ(brain[7], -3.3895314e38f);
}

TEST_P(KernelsTest, RandomRoundingIsBetweenAndRightOnAverage) {
  for (const RowType type : {RowType::kFloat16, RowType::kBfloat16}) {
    for (const float value : {1.001f, -0.3337f, 3e-6f, -4.1e-8f, 0.0f, 0.5f, 60001.0f}) {
      constexpr int64_t kCount = 40000;
      const std::vector<float> weights(kCount, value);
      Bytes row(2 * kCount);
      const uint32_t key[2] = {1, 2}, counter[3] = {3, 4, 5};
      kernels_.round_randomly[static_cast<int>(type)](weights.data(), kCount, key, counter,
                                                      row.data());
      const std::vector<float> rounded = weights_of(kernels_, type, row);
      double sum = 0, low = rounded[0], high = rounded[0];
      for (const float r : rounded) {
        sum += r;
        low = std::min<double>(low, r);
        high = std::max<double>(high, r);
      }
      EXPECT_LE(low, value);
      EXPECT_GE(high, value);
      if (nearest(type, value) == value) {
        EXPECT_EQ(low, high);
      }
      // Both neighbours differ by one step, so the standard deviation is at most half a step.
      const double deviation = (high - low) / 2 / std::sqrt(static_cast<double>(kCount));
      EXPECT_NEAR(sum / kCount, value, 4 * deviation + 1e-12);
    }
  }
}

TEST_P(KernelsTest, RandomRoundingUsesTheStatedBits) {
  const uint32_t key[2] = {0x12345678, 0x9abcdef0}, counter[3] = {7, 0xfedcba98, 3};
  const std::vector<float> weights = random_floats(150, 4);
  Bytes row(300);
  kernels_.round_randomly[static_cast<int>(RowType::kBfloat16)](weights.data(), 150, key, counter,
                                                                row.data());
  for (uint32_t c = 0; c < 150; ++c) {
    const PhiloxBlock block = philox({key[0], key[1]}, {c / 4, counter[0], counter[1], counter[2]});
    uint32_t bits;
    std::memcpy(&bits, &weights[c], 4);
    const auto expected = static_cast<uint16_t>((bits + (block[c % 4] & 0xffff)) >> 16);
    uint16_t half;
    std::memcpy(&half, row.data() + 2 * c, 2);
    ASSERT_EQ(half, expected) << c;
  }
}

TEST_P(KernelsTest, RandomRoundingIsTheSameOnEveryInstructionSet) {
  const uint32_t key[2] = {11, 12}, counter[3] = {13, 14, 15};
  for (const RowType type : kTypes) {
    for (int64_t dim = 1; dim <= 130; ++dim) {
      const std::vector<float> weights = random_floats(dim, static_cast<uint32_t>(dim), 1e-3f);
      Bytes row(4 * dim), expected(4 * dim);
      const auto t = static_cast<int>(type);
      kernels_.round_randomly[t](weights.data(), dim, key, counter, row.data());
      baseline_.round_randomly[t](weights.data(), dim, key, counter, expected.data());
      ASSERT_EQ(row, expected) << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest, testing::ValuesIn(sets_here()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace millrace
