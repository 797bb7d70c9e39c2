#include "embedding/rows/row_math.h"

#include <cmath>
#include <random>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(RowMathTest, SumOfSquaresIsRightAtEveryLength) {
  std::mt19937 random(1);
  std::vector<float> values(100);
  for (float& value : values) value = static_cast<float>(random() % 2000) / 1000 - 1;
  double expected = 0;
  for (size_t count = 0; count <= values.size(); ++count) {
    EXPECT_NEAR(sum_of_squares<double>(values.data(), count), expected, 1e-12);
    EXPECT_NEAR(sum_of_squares<float>(values.data(), count, 0.5f), expected / 4, 1e-5);
    if (count < values.size()) expected += std::pow(values[count], 2.0);
  }
}

TEST(RowMathTest, TheOrderIsTheDocumentedOne) {
  // Lanes 0 and 8 are added first: 2^24 + 1 rounds to 2^24 in float32. The ones of lanes 1 and 9
  // are added to each other before the large number, so their sum is not lost.
  std::vector<float> values(16, 0.0f);
  values[0] = 4096;  // squared: 2^24
  values[8] = 1;
  EXPECT_EQ(sum_of_squares<float>(values.data(), 16), 0x1p24f);
  values[8] = 0;
  values[1] = values[9] = 1;
  EXPECT_EQ(sum_of_squares<float>(values.data(), 16), 0x1p24f + 2);
}

}  // namespace
}  // namespace millrace
