#include "base/catch_exceptions.h"

#include <stdexcept>

#include "absl/status/statusor.h"
#include "base/failure_kind.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::StartsWith;

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
  EXPECT_THAT(thrown(std::runtime_error("odd\nmore")),
              StatusIs(absl::StatusCode::kInternal, "unexpected exception: odd"));
  EXPECT_THAT(thrown(7),
              StatusIs(absl::StatusCode::kInternal, "unexpected exception of an unknown type"));
}

TEST(CatchExceptionsTest, SaysWhatWasBeingDone) {
  const auto fail = [](const auto& exception) {
    return catch_exceptions("adding", [&]() -> absl::Status { throw exception; });
  };
  EXPECT_OK(catch_exceptions("adding", [] { return absl::OkStatus(); }));
  EXPECT_THAT(catch_exceptions("adding", [] { return absl::DataLossError("as it was"); }),
              StatusIs(absl::StatusCode::kDataLoss, "as it was"));
  EXPECT_THAT(fail(std::runtime_error("boom\nmore")),
              StatusIs(absl::StatusCode::kInternal, "adding: boom"));
  EXPECT_THAT(fail(std::bad_alloc()),
              StatusIs(absl::StatusCode::kResourceExhausted, StartsWith("adding: out of memory")));
  EXPECT_THAT(fail(7), StatusIs(absl::StatusCode::kInternal,
                                "adding: something was thrown that is no std::exception"));
}

TEST(CatchExceptionsTest, ExceptionsOfAPartAreOfThatKind) {
  const auto kind = [](const auto& exception) {
    return kind_of(catch_part_exceptions("adding", [&]() -> absl::Status { throw exception; }));
  };
  EXPECT_EQ(kind(std::runtime_error("boom")), FailureKind::kPart);
  EXPECT_EQ(kind(7), FailureKind::kPart);
  EXPECT_EQ(kind(std::bad_alloc()), FailureKind::kMachine);
  EXPECT_EQ(kind_of(catch_part_exceptions("adding", [] { return absl::InternalError("x"); })),
            FailureKind::kOther);
}

TEST(CatchExceptionsTest, WordsOfTheCaller) {
  const ExceptionWords words = {"", "threw an exception", "threw something"};
  const auto fail = [&](const auto& exception) {
    return catch_exceptions([&]() -> absl::Status { throw exception; }, words);
  };
  EXPECT_THAT(fail(std::runtime_error("boom")),
              StatusIs(absl::StatusCode::kInternal, "threw an exception: boom"));
  EXPECT_THAT(fail(std::bad_alloc()),
              StatusIs(absl::StatusCode::kResourceExhausted, StartsWith("out of memory")));
  EXPECT_THAT(fail(7), StatusIs(absl::StatusCode::kInternal, "threw something"));
}

}  // namespace
}  // namespace millrace
