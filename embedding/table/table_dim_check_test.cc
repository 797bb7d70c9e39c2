#include "embedding/table/table_dim_check.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(TableDimCheckTest, OneTo4096) {
  EXPECT_OK(check_table_dim("t", 1));
  EXPECT_OK(check_table_dim("t", 4096));
  for (const int64_t dim : {-1, 0, 4097})
    EXPECT_THAT(check_table_dim("t", dim), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(check_table_dim("t", 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "t: dim is 0; must be 1 to 4096"));
}

}  // namespace
}  // namespace millrace
