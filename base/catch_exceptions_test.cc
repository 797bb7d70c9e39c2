#include "base/catch_exceptions.h"

#include <stdexcept>

#include "absl/status/statusor.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(CatchExceptionsTest, PassesResultsOn) {
  EXPECT_OK(catch_exceptions([] { return absl::OkStatus(); }));
  EXPECT_THAT(catch_exceptions([] { return absl::StatusOr<int>(3); }), IsOkAndHolds(3));
  EXPECT_THAT(catch_exceptions([] { return absl::StatusOr<int>(absl::DataLossError("bad")); }),
              StatusIs(absl::StatusCode::kDataLoss, "bad"));
}

template <typename Exception>
absl::StatusOr<int> thrown(const Exception& exception) {
  return catch_exceptions([&]() -> absl::StatusOr<int> { throw exception; });
}

TEST(CatchExceptionsTest, TurnsExceptionsIntoStatus) {
  EXPECT_THAT(thrown(std::bad_alloc()), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(
      thrown(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
      StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(thrown(std::runtime_error("odd")),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("odd")));
  EXPECT_THAT(thrown(7), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace millrace
