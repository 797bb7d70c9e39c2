#include "framework/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(RequestSetTest, EachPartMakesItNotEmpty) {
  EXPECT_TRUE(RequestSet().empty());
  for (const auto part : {&RequestSet::evaluate_all, &RequestSet::checkpoint, &RequestSet::reload,
                          &RequestSet::stop}) {
    RequestSet set;
    set.*part = true;
    EXPECT_FALSE(set.empty());
  }
  RequestSet set;
  set.evaluate.insert("a");
  EXPECT_FALSE(set.empty());
}

RequestSet stop(const char* reason, const char* hook) {
  RequestSet set;
  set.stop = true;
  set.stop_reason = reason;
  set.stop_hook = hook;
  return set;
}

TEST(RequestSetTest, MergeKeepsTheFirstStop) {
  RequestSet set;
  set.evaluate.insert("a");
  RequestSet other = stop("x", "one");
  other.evaluate_all = true;
  other.evaluate.insert("b");
  set.merge(other);
  other = stop("y", "two");
  other.checkpoint = true;
  set.merge(other);
  set.merge({});
  EXPECT_TRUE(set.evaluate_all);
  EXPECT_THAT(set.evaluate, ElementsAre("a", "b"));
  EXPECT_TRUE(set.checkpoint);
  EXPECT_FALSE(set.reload);
  EXPECT_EQ(set.stop_reason, "x");
  EXPECT_EQ(set.stop_hook, "one");
}

}  // namespace
}  // namespace millrace
