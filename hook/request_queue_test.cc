#include "hook/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RequestQueueTest, NothingAsked) {
  RequestQueue requests;
  EXPECT_TRUE(requests.take_common().empty());
  EXPECT_TRUE(requests.take_this_rank().empty());
  EXPECT_TRUE(requests.take_at_end().empty());
}

TEST(RequestQueueTest, CommonByDefault) {
  RequestQueue requests;
  requests.evaluate();
  requests.checkpoint();
  requests.reload();
  requests.stop("enough");
  EXPECT_TRUE(requests.take_this_rank().empty());
  const RequestSet set = requests.take_common();
  EXPECT_TRUE(set.evaluates_all());
  EXPECT_TRUE(set.has(Request::kCheckpoint));
  EXPECT_TRUE(set.has(Request::kReload));
  EXPECT_TRUE(set.has(Request::kStop));
  EXPECT_EQ(set.first(Request::kStop)->detail, "enough");
}

TEST(RequestQueueTest, ScopesDoNotMix) {
  RequestQueue requests;
  requests.evaluate("a", Scope::kThisRank);
  requests.checkpoint(Scope::kThisRank);
  requests.reload(Scope::kThisRank);
  requests.stop("a signal", Scope::kThisRank);
  EXPECT_TRUE(requests.take_common().empty());
  const RequestSet set = requests.take_this_rank();
  EXPECT_THAT(set.evaluation_sets(), ElementsAre("a"));
  EXPECT_FALSE(set.evaluates_all());
  EXPECT_TRUE(set.has(Request::kCheckpoint) && set.has(Request::kReload) &&
              set.has(Request::kStop));
}

TEST(RequestQueueTest, TakingLeavesNothing) {
  RequestQueue requests;
  requests.evaluate("a");
  requests.stop("enough");
  EXPECT_FALSE(requests.take_common().empty());
  const RequestSet again = requests.take_common();
  EXPECT_TRUE(again.empty());
  EXPECT_FALSE(again.has(Request::kStop));
}

TEST(RequestQueueTest, MergedOverHooks) {
  RequestQueue requests;
  requests.set_caller("one");
  requests.evaluate("b");
  requests.evaluate("a");
  requests.set_caller("two");
  requests.evaluate("a");
  requests.stop("first");
  requests.set_caller("three");
  requests.stop("second");
  const RequestSet set = requests.take_common();
  EXPECT_THAT(set.evaluation_sets(), ElementsAre("a", "b"));
  EXPECT_EQ(set.first(Request::kStop)->detail, "first");
  EXPECT_EQ(set.first(Request::kStop)->hook, "two");
}

TEST(RequestQueueTest, AtEndStaysApart) {
  RequestQueue requests;
  requests.evaluate_at_end();
  requests.evaluate_at_end("a");
  EXPECT_TRUE(requests.take_common().empty());
  EXPECT_TRUE(requests.take_this_rank().empty());
  const RequestSet set = requests.take_at_end();
  EXPECT_TRUE(set.evaluates_all());
  EXPECT_THAT(set.evaluation_sets(), ElementsAre("", "a"));
}

TEST(RequestQueueTest, TheSameOfTheSameHookIsAskedOnce) {
  RequestQueue requests;
  requests.set_caller("one");
  requests.stop("x", Scope::kThisRank);
  requests.stop("x", Scope::kThisRank);
  requests.set_caller("two");
  requests.stop("x", Scope::kThisRank);
  EXPECT_EQ(requests.take_this_rank().asked.size(), 2u);
}

TEST(RequestQueueTest, LooksBeforeEachExchangeInTheHooksName) {
  RequestQueue requests;
  bool signalled = false;
  requests.set_caller("one");
  requests.before_exchange([&] {
    if (signalled) requests.stop("signal", Scope::kThisRank);
  });
  requests.set_caller("two");
  EXPECT_TRUE(requests.run_callbacks().ok());
  EXPECT_TRUE(requests.take_this_rank().empty());
  signalled = true;
  EXPECT_TRUE(requests.run_callbacks().ok());
  const RequestSet set = requests.take_this_rank();
  EXPECT_TRUE(set.has(Request::kStop));
  EXPECT_EQ(set.first(Request::kStop)->hook, "one");
}

TEST(RequestQueueTest, ALookThatThrowsIsNamed) {
  RequestQueue requests;
  requests.set_caller("one");
  requests.before_exchange([] { throw std::runtime_error("planted"); });
  const absl::Status status = requests.run_callbacks();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("hook one before an exchange"));
  requests.remove_callbacks("two");
  EXPECT_FALSE(requests.run_callbacks().ok());
  requests.remove_callbacks("one");
  EXPECT_TRUE(requests.run_callbacks().ok());
}

TEST(RequestSetTest, EachPartMakesItNotEmpty) {
  EXPECT_TRUE(RequestSet().empty());
  for (const auto kind :
       {Request::kEvaluate, Request::kCheckpoint, Request::kReload, Request::kStop}) {
    RequestSet set;
    set.add({kind, "", "hook"});
    EXPECT_FALSE(set.empty());
    EXPECT_EQ(set.evaluates_all(), kind == Request::kEvaluate);
    EXPECT_EQ(set.has(Request::kCheckpoint), kind == Request::kCheckpoint);
    EXPECT_EQ(set.has(Request::kReload), kind == Request::kReload);
    EXPECT_EQ(set.has(Request::kStop), kind == Request::kStop);
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
  EXPECT_TRUE(set.evaluates_all());
  EXPECT_THAT(set.evaluation_sets(), ElementsAre("", "a", "b"));
  EXPECT_TRUE(set.has(Request::kCheckpoint));
  EXPECT_FALSE(set.has(Request::kReload));
  EXPECT_EQ(set.first(Request::kStop)->detail, "x");
  EXPECT_EQ(set.first(Request::kStop)->hook, "one");
  EXPECT_EQ(set.asked.size(), 6u);
}

// Returns one request of each kind from two ranks.
RequestSet of_two_ranks() {
  RequestSet set;
  for (const int rank : {0, 1}) {
    set.add({Request::kEvaluate, "a", "hook", rank});
    set.add({Request::kCheckpoint, "", "hook", rank});
    set.add({Request::kReload, "", "hook", rank});
    set.add({Request::kStop, "why", "hook", rank});
  }
  return set;
}

std::vector<std::string> texts(const google::protobuf::RepeatedPtrField<PendingRequest>& requests) {
  std::vector<std::string> texts;
  for (const PendingRequest& request : requests) {
    const auto kind = static_cast<Request::Kind>(request.kind());
    texts.push_back(std::string(request_name(kind)) +
                    (request.detail().empty() ? "" : " " + request.detail()));
  }
  return texts;
}

// State of a queue in a checkpoint.
struct Saved {
  explicit Saved(const RequestQueue& queue, const SavePoint* point = nullptr) {
    queue.save(point, &shared, &own);
  }
  std::vector<std::string> common() const { return texts(shared.pending()); }
  std::vector<std::string> now() const { return texts(own.due_now()); }
  std::vector<std::string> later() const { return texts(own.due_later()); }
  SharedState shared;
  RankState own;
};

TEST(RequestQueueTest, BetweenRunsOnlyDeferredRequestsAreSaved) {
  RequestQueue queue;
  queue.evaluate();
  queue.stop("signal", Scope::kThisRank);
  const Saved saved(queue);
  EXPECT_THAT(saved.common(), IsEmpty());
  EXPECT_THAT(saved.now(), IsEmpty());
}

TEST(RequestQueueTest, DefersWhatThisRankAskedForAndCanBeServedLater) {
  RequestQueue queue(/*rank=*/1, /*world_size=*/2);
  queue.defer_own(of_two_ranks(), RequestQueue::Due::kNow);
  queue.defer_own(of_two_ranks(), RequestQueue::Due::kLater);
  const Saved saved(queue);
  EXPECT_THAT(saved.now(), ElementsAre("evaluate a", "reload"));
  EXPECT_THAT(saved.later(), ElementsAre("evaluate a", "reload"));
  EXPECT_THAT(saved.common(), IsEmpty());
}

TEST(RequestQueueTest, ARanksStopDefersAllThatIsCommon) {
  RequestQueue queue;
  queue.defer_stopped(of_two_ranks(), Scope::kThisRank);
  EXPECT_THAT(Saved(queue).common(), ElementsAre("evaluate a", "reload", "evaluate a", "reload"));
  RequestQueue common;
  RequestSet asked;
  asked.add({Request::kCheckpoint});
  asked.add({Request::kStop, "enough"});
  common.defer_stopped(asked, Scope::kCommon);
  EXPECT_THAT(Saved(common).common(), ElementsAre("checkpoint", "stop enough"));
}

TEST(RequestQueueTest, AFailedEvaluationDefersAllButCheckpoints) {
  RequestQueue queue;
  queue.defer_failed(of_two_ranks(), Scope::kCommon);
  EXPECT_THAT(Saved(queue).common(),
              ElementsAre("evaluate a", "reload", "stop why", "evaluate a", "reload", "stop why"));
  RequestQueue own(1, 2);
  own.defer_failed(of_two_ranks(), Scope::kThisRank);
  EXPECT_THAT(Saved(own).common(), IsEmpty());
  EXPECT_THAT(Saved(own).now(), ElementsAre("evaluate a", "reload"));
}

// A checkpoint between common requests: its evaluations are done, later requests are not.
TEST(RequestQueueTest, ASaveKeepsWhatIsStillToBeServed) {
  RequestQueue queue;
  queue.evaluate("b");
  queue.checkpoint();
  queue.reload(Scope::kThisRank);
  SavePoint point;
  point.served = of_two_ranks();
  point.carried.add({Request::kEvaluate, "carried"});
  point.carried.add({Request::kStop, "signal"});
  {
    const Saved saved(queue, &point);
    EXPECT_THAT(saved.common(),
                ElementsAre("reload", "stop why", "reload", "stop why", "evaluate b"));
    EXPECT_THAT(saved.now(), ElementsAre("evaluate carried"));
    EXPECT_THAT(saved.later(), ElementsAre("reload")) << "one rank: the next exchange carries it";
  }
  point.scope = Scope::kThisRank;
  point.stop_reason = "enough";
  {
    const Saved saved(queue, &point);
    EXPECT_THAT(saved.common(), ElementsAre("reload", "reload", "evaluate b", "stop enough"))
        << "the stop of one rank is for this run";
    EXPECT_THAT(saved.now(), IsEmpty());
    EXPECT_THAT(saved.later(), ElementsAre("evaluate carried", "reload"));
  }
  EXPECT_THAT(Saved(queue).common(), IsEmpty()) << "saving changes nothing";
}

TEST(RequestQueueTest, EvaluationsThatMayFailAreSavedAsIfTheyHad) {
  RequestQueue queue;
  SavePoint point;
  point.evaluations.add({Request::kEvaluate, "a"});
  EXPECT_THAT(Saved(queue, &point).common(), ElementsAre("evaluate a"));
  point.scope = Scope::kThisRank;
  EXPECT_THAT(Saved(queue, &point).common(), IsEmpty());
  EXPECT_THAT(Saved(queue, &point).now(), ElementsAre("evaluate a"));
}

// A queue of another run makes the requests that it loaded.
TEST(RequestQueueTest, AResumedRunAsksAgain) {
  RequestQueue queue(0, 1);
  queue.defer_stopped(of_two_ranks(), Scope::kThisRank);
  queue.defer_own(of_two_ranks(), RequestQueue::Due::kNow);
  RequestSet reload;
  reload.add({Request::kReload, "", "hook", 0});
  queue.defer_own(reload, RequestQueue::Due::kLater);
  const Saved saved(queue);
  for (const bool within_pass : {true, false}) {
    RequestQueue resumed;
    ASSERT_OK_AND_ASSIGN(DeferredRequests deferred, resumed.load(saved.shared, {&saved.own, 1}));
    EXPECT_TRUE(resumed.common().empty());
    resumed.restore(std::move(deferred));
    resumed.begin_run();
    resumed.resume(within_pass);
    EXPECT_EQ(resumed.common().asked.size(), 4u);
    EXPECT_EQ(resumed.this_rank().asked.size(), within_pass ? 2u : 3u);
    resumed.resume_due_later();
    EXPECT_EQ(resumed.this_rank().asked.size(), 3u);
    resumed.resume(within_pass);
    EXPECT_EQ(resumed.common().asked.size(), 4u) << "each once";
  }
}

TEST(RequestQueueTest, OfAnotherNumberOfRanksTheFirstAsksForAll) {
  std::vector<RankState> ranks(3);
  for (RankState& rank : ranks) rank.add_due_now()->set_kind(Request::kReload);
  const auto size = [&](int rank, int world_size) {
    const auto deferred = RequestQueue(rank, world_size).load({}, ranks);
    EXPECT_OK(deferred.status());
    return deferred->due_now.asked.size();
  };
  EXPECT_EQ(size(2, 3), 1u);
  EXPECT_EQ(size(0, 2), 3u);
  EXPECT_EQ(size(1, 2), 0u);
}

TEST(RequestQueueTest, DamageIsDataLoss) {
  for (const int kind : {-1, Request::kStop + 1}) {
    SharedState shared;
    shared.add_pending()->set_kind(kind);
    EXPECT_THAT(RequestQueue().load(shared, {}), StatusIs(absl::StatusCode::kDataLoss));
  }
}

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
