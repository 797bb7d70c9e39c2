#include "io/bad_rows.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(BadRowsTest, ReturnsWhatIsWrongUnlessSuchRowsAreLeftOut) {
  BadRows strict(3, /*skip=*/false);
  EXPECT_THAT(strict.add(1, absl::DataLossError("why")),
              StatusIs(absl::StatusCode::kDataLoss, "why"));
  EXPECT_THAT(strict.add_all(absl::DataLossError("all")),
              StatusIs(absl::StatusCode::kDataLoss, "all"));
  EXPECT_EQ(strict.count(), 0);
  EXPECT_FALSE(strict.contains(1));
}

TEST(BadRowsTest, CountsEachRowOnce) {
  BadRows bad(3, /*skip=*/true);
  EXPECT_FALSE(bad.contains(2));
  EXPECT_OK(bad.first());
  EXPECT_OK(bad.add(2, absl::DataLossError("first")));
  EXPECT_OK(bad.add(0, absl::DataLossError("second")));
  EXPECT_OK(bad.add(2, absl::DataLossError("again")));
  EXPECT_EQ(bad.count(), 2);
  EXPECT_TRUE(bad.contains(0));
  EXPECT_FALSE(bad.contains(1));
  EXPECT_TRUE(bad.contains(2));
  EXPECT_THAT(bad.first(), StatusIs(absl::StatusCode::kDataLoss, "first"));
}

TEST(BadRowsTest, AllOfThem) {
  BadRows bad(4, /*skip=*/true);
  EXPECT_OK(bad.add(2, absl::DataLossError("first")));
  EXPECT_OK(bad.add_all(absl::DataLossError("the group")));
  EXPECT_EQ(bad.count(), 4);
  EXPECT_TRUE(bad.contains(3));
  EXPECT_THAT(bad.first(), StatusIs(absl::StatusCode::kDataLoss, "the group"));
}

}  // namespace
}  // namespace millrace
