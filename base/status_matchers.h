// GoogleTest matchers for absl::Status and absl::StatusOr, meant like Abseil's later ones.
//
//   EXPECT_THAT(parse("x"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")));
//   EXPECT_THAT(count(), IsOkAndHolds(3));
//   ASSERT_OK_AND_ASSIGN(std::string text, read_file(path));
#ifndef MILLRACE_BASE_STATUS_MATCHERS_H_
#define MILLRACE_BASE_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace millrace {
namespace internal {
inline const absl::Status& status_of(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& status_of(const absl::StatusOr<T>& value) {
  return value.status();
}
}  // namespace internal

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = internal::status_of(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.ok();
}

MATCHER_P2(StatusIs, code, message, "has the status code and a message that matches") {
  const absl::Status& status = internal::status_of(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

MATCHER_P(StatusIs, code, "has the status code") {
  const absl::Status& status = internal::status_of(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.code() == code;
}

MATCHER_P(IsOkAndHolds, value, "is OK and holds a value that matches") {
  if (!arg.ok()) {
    *result_listener << "whose status is " << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace millrace

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::millrace::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::millrace::IsOk())
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  MILLRACE_ASSERT_OK_AND_ASSIGN_(MILLRACE_CONCAT_(millrace_or_, __LINE__), lhs, expr)
#define MILLRACE_ASSERT_OK_AND_ASSIGN_(temporary, lhs, expr) \
  auto temporary = (expr);                                   \
  ASSERT_THAT(temporary, ::millrace::IsOk());                \
  lhs = *std::move(temporary)

#endif  // MILLRACE_BASE_STATUS_MATCHERS_H_
