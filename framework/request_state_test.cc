#include "framework/request_state.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(RequestStateTest, KeepsAllButTheRank) {
  const Request request = {Request::kEvaluate, "a", "evaluation", 3};
  ASSERT_OK_AND_ASSIGN(const Request back, from_state(to_state(request), 5));
  EXPECT_EQ(back.kind, Request::kEvaluate);
  EXPECT_EQ(back.detail, "a");
  EXPECT_EQ(back.hook, "evaluation");
  EXPECT_EQ(back.rank, 5);
}

TEST(RequestStateTest, RefusesAKindThatDoesNotExist) {
  PendingRequest state;
  for (const int kind : {-1, 4}) {
    state.set_kind(kind);
    EXPECT_THAT(from_state(state, 0), StatusIs(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace millrace
