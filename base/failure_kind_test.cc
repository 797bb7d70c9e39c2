#include "base/failure_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "absl/strings/cord.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FailureKindTest, GoesWithTheStatus) {
  const absl::Status plain = absl::InvalidArgumentError("x");
  EXPECT_EQ(kind_of(plain), FailureKind::kOther);
  const absl::Status marked = with_kind(plain, FailureKind::kDiverged);
  EXPECT_EQ(marked.message(), "x");
  EXPECT_EQ(kind_of(marked), FailureKind::kDiverged);
  EXPECT_EQ(kind_of(annotate(marked, "step 3")), FailureKind::kDiverged);
  EXPECT_EQ(kind_of(with_kind(marked, FailureKind::kMachine)), FailureKind::kDiverged);
  EXPECT_OK(with_kind(absl::OkStatus(), FailureKind::kMachine));
}

TEST(FailureKindTest, ReplacingKeepsCodeMessageAndOtherPayloads) {
  absl::Status full = with_kind(absl::ResourceExhaustedError("full"), FailureKind::kMachine);
  full.SetPayload("other", absl::Cord("payload"));
  const absl::Status replaced = replace_kind(full, FailureKind::kEvaluation);
  EXPECT_THAT(replaced, StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_EQ(kind_of(replaced), FailureKind::kEvaluation);
  EXPECT_EQ(replaced.GetPayload("other"), absl::Cord("payload"));
  EXPECT_EQ(kind_of(replace_kind(absl::DataLossError("bad"), FailureKind::kLimit)),
            FailureKind::kLimit);
  EXPECT_OK(replace_kind(absl::OkStatus(), FailureKind::kMachine));
}

TEST(FailureKindTest, MoreTextKeepsCodeAndKind) {
  const absl::Status longer =
      with_more(with_kind(absl::DataLossError("bad"), FailureKind::kEvaluation), "; look");
  EXPECT_THAT(longer, StatusIs(absl::StatusCode::kDataLoss, "bad; look"));
  EXPECT_EQ(kind_of(longer), FailureKind::kEvaluation);
  EXPECT_OK(with_more(absl::OkStatus(), "; look"));
}

TEST(FailureKindTest, ErrorsOfPartsThatNameNoOtherCause) {
  const auto kind = [](const absl::Status& status) { return kind_of(as_part_failure(status)); };
  EXPECT_EQ(kind(absl::InternalError("x")), FailureKind::kPart);
  EXPECT_EQ(kind(absl::DeadlineExceededError("x")), FailureKind::kPart);
  EXPECT_EQ(kind(absl::InvalidArgumentError("x")), FailureKind::kOther);
  EXPECT_EQ(kind(absl::UnavailableError("x")), FailureKind::kOther);
  EXPECT_EQ(kind(with_kind(absl::InternalError("x"), FailureKind::kDiverged)),
            FailureKind::kDiverged);
  EXPECT_OK(as_part_failure(absl::OkStatus()));
}

void expect_machine(const std::exception& exception, const std::string& text) {
  const absl::Status status = status_of_exception(exception);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(text)));
  EXPECT_EQ(kind_of(status), FailureKind::kMachine);
}

TEST(FailureKindTest, MemoryAndThreads) {
  expect_machine(std::bad_alloc(), "out of memory; use smaller");
  expect_machine(std::runtime_error("[enforce fail at alloc_cpu.cpp:118] err == 0. "
                                    "DefaultCPUAllocator: can't allocate memory: you tried to "
                                    "allocate 40000000000 bytes. Error code 12 (Cannot allocate "
                                    "memory)\nframe #0: ..."),
                 "out of memory: 40000000000 bytes were asked for; use smaller");
  EXPECT_THAT(
      std::string(
          status_of_exception(std::runtime_error("can't allocate memory\nframe")).message()),
      Not(HasSubstr("frame")));
  expect_machine(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)),
                 "ulimit -u");
  expect_machine(std::runtime_error("socket: Too many open files\nframe #0: ..."), "ulimit -Hn");
  expect_machine(std::system_error(std::make_error_code(std::errc::too_many_files_open)),
                 "ulimit -Hn");
}

TEST(FailureKindTest, AnythingElseIsOurs) {
  const absl::Status status = status_of_exception(std::logic_error("first\nsecond"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, "first"));
  EXPECT_EQ(kind_of(status), FailureKind::kOther);
}

}  // namespace
}  // namespace millrace
