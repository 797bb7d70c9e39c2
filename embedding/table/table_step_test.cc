#include "embedding/table/table_step.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(TableStepTest, RefusesWhatRowsCannotNote) {
  EXPECT_OK(check_table_step("items", 0));
  EXPECT_OK(check_table_step("items", 4294967295));
  for (const int64_t step : {int64_t{-1}, int64_t{4294967296}}) {
    EXPECT_THAT(check_table_step("items", step),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(absl::StrCat("table items cannot note step ", step))));
  }
}

}  // namespace
}  // namespace millrace
