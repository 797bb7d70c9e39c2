#include "framework/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(RequestsTest, NothingAsked) {
  Requests requests;
  EXPECT_TRUE(requests.take_common().empty());
  EXPECT_TRUE(requests.take_this_rank().empty());
  EXPECT_TRUE(requests.take_at_end().empty());
}

TEST(RequestsTest, CommonByDefault) {
  Requests requests;
  requests.evaluate();
  requests.checkpoint();
  requests.reload();
  requests.stop("enough");
  EXPECT_TRUE(requests.take_this_rank().empty());
  const RequestSet set = requests.take_common();
  EXPECT_TRUE(set.evaluate_all);
  EXPECT_TRUE(set.checkpoint);
  EXPECT_TRUE(set.reload);
  EXPECT_TRUE(set.stop);
  EXPECT_EQ(set.stop_reason, "enough");
}

TEST(RequestsTest, ScopesDoNotMix) {
  Requests requests;
  requests.evaluate("a", Scope::kThisRank);
  requests.checkpoint(Scope::kThisRank);
  requests.reload(Scope::kThisRank);
  requests.stop("a signal", Scope::kThisRank);
  EXPECT_TRUE(requests.take_common().empty());
  const RequestSet set = requests.take_this_rank();
  EXPECT_THAT(set.evaluate, ElementsAre("a"));
  EXPECT_FALSE(set.evaluate_all);
  EXPECT_TRUE(set.checkpoint && set.reload && set.stop);
}

TEST(RequestsTest, TakingLeavesNothing) {
  Requests requests;
  requests.evaluate("a");
  requests.stop("enough");
  EXPECT_FALSE(requests.take_common().empty());
  const RequestSet again = requests.take_common();
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(again.stop_reason, "");
}

TEST(RequestsTest, MergedOverHooks) {
  Requests requests;
  requests.set_caller("one");
  requests.evaluate("b");
  requests.evaluate("a");
  requests.set_caller("two");
  requests.evaluate("a");
  requests.stop("first");
  requests.set_caller("three");
  requests.stop("second");
  const RequestSet set = requests.take_common();
  EXPECT_THAT(set.evaluate, ElementsAre("a", "b"));
  EXPECT_EQ(set.stop_reason, "first");
  EXPECT_EQ(set.stop_hook, "two");
}

TEST(RequestsTest, AtEndStaysApart) {
  Requests requests;
  requests.evaluate_at_end();
  requests.evaluate_at_end("a");
  EXPECT_TRUE(requests.take_common().empty());
  EXPECT_TRUE(requests.take_this_rank().empty());
  const RequestSet set = requests.take_at_end();
  EXPECT_TRUE(set.evaluate_all);
  EXPECT_THAT(set.evaluate, ElementsAre("a"));
}

TEST(RequestsTest, TheSameOfTheSameHookIsAskedOnce) {
  Requests requests;
  requests.set_caller("one");
  requests.stop("x", Scope::kThisRank);
  requests.stop("x", Scope::kThisRank);
  requests.set_caller("two");
  requests.stop("x", Scope::kThisRank);
  EXPECT_EQ(requests.take_this_rank().asked.size(), 2u);
}

TEST(RequestsTest, LooksBeforeEachExchangeInTheHooksName) {
  Requests requests;
  bool signalled = false;
  requests.set_caller("one");
  requests.before_exchange([&] {
    if (signalled) requests.stop("signal", Scope::kThisRank);
  });
  requests.set_caller("two");
  EXPECT_TRUE(requests.look().ok());
  EXPECT_TRUE(requests.take_this_rank().empty());
  signalled = true;
  EXPECT_TRUE(requests.look().ok());
  const RequestSet set = requests.take_this_rank();
  EXPECT_TRUE(set.stop);
  EXPECT_EQ(set.stop_hook, "one");
}

TEST(RequestsTest, ALookThatThrowsIsNamed) {
  Requests requests;
  requests.set_caller("one");
  requests.before_exchange([] { throw std::runtime_error("planted"); });
  const absl::Status status = requests.look();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("hook one before an exchange"));
  requests.forget_looks("two");
  EXPECT_FALSE(requests.look().ok());
  requests.forget_looks("one");
  EXPECT_TRUE(requests.look().ok());
}

TEST(RequestSetTest, EachPartMakesItNotEmpty) {
  EXPECT_TRUE(RequestSet().empty());
  for (const auto kind :
       {Request::kEvaluate, Request::kCheckpoint, Request::kReload, Request::kStop}) {
    RequestSet set;
    set.add({kind, "", "hook"});
    EXPECT_FALSE(set.empty());
    EXPECT_EQ(set.evaluate_all, kind == Request::kEvaluate);
    EXPECT_EQ(set.checkpoint, kind == Request::kCheckpoint);
    EXPECT_EQ(set.reload, kind == Request::kReload);
    EXPECT_EQ(set.stop, kind == Request::kStop);
  }
}

TEST(RequestSetTest, MergeKeepsTheFirstStop) {
  RequestSet set;
  set.add({Request::kEvaluate, "a", "one"});
  RequestSet other;
  other.add({Request::kStop, "x", "one"});
  other.add({Request::kEvaluate, "", "one"});
  other.add({Request::kEvaluate, "b", "one"});
  set.merge(other);
  RequestSet third;
  third.add({Request::kStop, "y", "two"});
  third.add({Request::kCheckpoint, "", "two"});
  set.merge(third);
  set.merge({});
  EXPECT_TRUE(set.evaluate_all);
  EXPECT_THAT(set.evaluate, ElementsAre("a", "b"));
  EXPECT_TRUE(set.checkpoint);
  EXPECT_FALSE(set.reload);
  EXPECT_EQ(set.stop_reason, "x");
  EXPECT_EQ(set.stop_hook, "one");
  EXPECT_EQ(set.asked.size(), 6u);
}

}  // namespace
}  // namespace millrace
