#include "base/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace millrace {
namespace {

TEST(Finite, FindsOneAnywhere) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::signaling_NaN()}) {
    for (size_t place = 0; place < 37; ++place) {
      std::vector<float> values(37, 1.5f);
      EXPECT_TRUE(all_finite(values.data(), 37));
      values[place] = bad;
      EXPECT_FALSE(all_finite(values.data(), 37)) << bad << " at " << place;
    }
  }
}

TEST(Finite, ExtremesAreFinite) {
  const std::vector<float> values = {0.0f, -0.0f, std::numeric_limits<float>::max(),
                                     std::numeric_limits<float>::lowest(),
                                     std::numeric_limits<float>::denorm_min()};
  EXPECT_TRUE(all_finite(values.data(), 5));
  EXPECT_TRUE(all_finite(nullptr, 0));
}

}  // namespace
}  // namespace millrace
