#include "base/status_macros.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"

namespace millrace {
namespace {

absl::Status fail_if(bool fail) {
  return fail ? absl::NotFoundError("no such thing") : absl::OkStatus();
}

absl::StatusOr<int> number(bool fail) {
  if (fail) return absl::DataLossError("broken");
  return 7;
}

absl::Status run(bool fail, int* evaluated) {
  auto context = [&] {
    ++*evaluated;
    return "looking";
  };
  RETURN_IF_ERROR(fail_if(fail), context());
  return absl::OkStatus();
}

TEST(AnnotateTest, PutsTextBeforeTheMessageAndKeepsTheCodeAndPayloads) {
  absl::Status status = absl::NotFoundError("x");
  status.SetPayload("url", absl::Cord("payload"));
  const absl::Status annotated = annotate(status, "opening");
  EXPECT_THAT(annotated, StatusIs(absl::StatusCode::kNotFound, "opening: x"));
  EXPECT_EQ(annotated.GetPayload("url"), absl::Cord("payload"));
}

TEST(AnnotateTest, LeavesOkAndEmptyAnnotationsAlone) {
  EXPECT_OK(annotate(absl::OkStatus(), "opening"));
  EXPECT_EQ(annotate(absl::NotFoundError("x"), ""), absl::NotFoundError("x"));
}

TEST(ReturnIfErrorTest, ReturnsAnnotatedErrorsAndEvaluatesTheAnnotationOnlyThen) {
  int evaluated = 0;
  EXPECT_OK(run(false, &evaluated));
  EXPECT_EQ(evaluated, 0);
  EXPECT_THAT(run(true, &evaluated),
              StatusIs(absl::StatusCode::kNotFound, "looking: no such thing"));
  EXPECT_EQ(evaluated, 1);
}

TEST(ReturnIfErrorTest, WorksWithoutBracesAndInFunctionsThatReturnValues) {
  auto f = [](bool fail) -> absl::StatusOr<int> {
    if (true) RETURN_IF_ERROR(fail_if(fail));
    return 1;
  };
  EXPECT_THAT(f(false), IsOkAndHolds(1));
  EXPECT_THAT(f(true), StatusIs(absl::StatusCode::kNotFound, "no such thing"));
}

TEST(AssignOrReturnTest, AssignsOrReturns) {
  auto f = [](bool fail) -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(const int a, number(false));
    int b = 0;
    ASSIGN_OR_RETURN(b, number(fail), "counting");
    return a + b;
  };
  EXPECT_THAT(f(false), IsOkAndHolds(14));
  EXPECT_THAT(f(true), StatusIs(absl::StatusCode::kDataLoss, "counting: broken"));
}

TEST(AssignOrReturnTest, MovesValuesThatCannotBeCopied) {
  auto make = []() -> absl::StatusOr<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  auto f = [&]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(std::unique_ptr<int> p, make());
    return *p;
  };
  EXPECT_THAT(f(), IsOkAndHolds(3));
}

}  // namespace
}  // namespace millrace
