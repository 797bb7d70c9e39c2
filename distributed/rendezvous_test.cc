#include "distributed/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/mesh/memory_job_store_testing.h"
#include "distributed/start_store.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// A clock that advances only while a rank sleeps; then the other ranks act.
class ScriptedClock : public FakeClock {
 public:
  void sleep(absl::Duration duration) override {
    FakeClock::sleep(duration);
    if (meanwhile) meanwhile();
  }
  std::function<void()> meanwhile;
};

// A store that repeats what may be repeated. If `loses_sums`, the answers of add() are lost. If
// `hesitates`, the first call for each key has no answer.
class LossyStore : public MemoryJobStore {
 public:
  absl::Status set(const std::string& key, absl::string_view value) override {
    if (is_first("set " + key)) return absl::DeadlineExceededError("busy");
    return MemoryJobStore::set(key, value);
  }
  absl::StatusOr<std::optional<std::string>> get(const std::string& key) override {
    if (is_first("get " + key)) return absl::DeadlineExceededError("busy");
    return MemoryJobStore::get(key);
  }
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override {
    if (is_first("get all")) return absl::DeadlineExceededError("busy");
    return MemoryJobStore::get_all(keys);
  }
  absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) override {
    absl::StatusOr<int64_t> sum = MemoryJobStore::add(key, amount);
    if (loses_sums && amount != 0) return absl::UnavailableError("connection reset");
    return sum;
  }
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override {
    if (is_first("set once " + key)) return absl::DeadlineExceededError("busy");
    MemoryJobStore::set_once(key, value).IgnoreError();
    return MemoryJobStore::set_once(key, value);
  }
  bool loses_sums = false;
  bool hesitates = false;

 private:
  bool is_first(const std::string& call) {
    MutexLock lock(mutex_);
    return hesitates && calls_.insert(call).second;
  }

  Mutex mutex_;
  std::set<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

RendezvousOptions options_of(int rank, int world_size) {
  RendezvousOptions options;
  options.rank = rank;
  options.world_size = world_size;
  options.identity = {.name = "job", .version = "1.0", .config = "a: 1\nb: 2\n"};
  options.timeout = absl::Seconds(60);
  return options;
}

class RendezvousTest : public testing::Test {
 protected:
  // Runs each rank on a thread, in real time. Returns the results.
  std::vector<absl::Status> meet_all(const std::vector<RendezvousOptions>& ranks) {
    std::vector<absl::Status> results(ranks.size());
    std::vector<std::thread> threads;
    for (int i = 0; i < ranks.size(); ++i) {
      threads.emplace_back(
          [&, i] { results[i] = meet_ranks(store_, ranks[i], Clock::real()).status(); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  // Runs one rank, with a separate clock.
  absl::Status meet(const RendezvousOptions& options, std::function<void()> meanwhile = nullptr) {
    ScriptedClock clock;
    clock.advance(absl::Hours(1));  // the machine has run for a while
    const absl::Duration begin = clock.elapsed();
    clock.meanwhile = std::move(meanwhile);
    absl::Status status = meet_ranks(store_, options, clock).status();
    took_ = clock.elapsed() - begin;
    return status;
  }

  // Returns a key of the newest start.
  std::string key(const std::string& name) {
    return store_.peek("start").value_or("none") + "/" + name;
  }
  // Simulates a rank's arrival in the store. shows_life() simulates a later heartbeat.
  void comes(int rank) {
    EXPECT_OK(store_.set(key("came/" + std::to_string(rank)), "first"));
    shows_life(rank);
  }
  void shows_life(int rank, Heartbeat heartbeat = {}) {
    heartbeat.beat = ++beats_;
    EXPECT_OK(store_.set(key("beat/" + std::to_string(rank)), format_heartbeat(heartbeat)));
  }
  // Simulates rank 0 of a new start, of the same job unless `job` is given.
  void new_start(const std::string& name, std::optional<std::string> job = std::nullopt) {
    if (!job) job = store_.peek(key("job"));
    EXPECT_OK(store_.set(name + "/job", job.value_or("")));
    EXPECT_OK(store_.set("start", name));
  }
  // Simulates rank 0, which has come and waits for others.
  void rank_0_has_come(int world_size) {
    RendezvousOptions zero = options_of(0, world_size);
    zero.timeout = absl::ZeroDuration();
    EXPECT_THAT(meet(zero), StatusIs(absl::StatusCode::kUnavailable));
    store_.erase(key("verdict"));
  }

  LossyStore store_;
  absl::Duration took_;
  int beats_ = 1000;
};

TEST_F(RendezvousTest, AllCome) {
  for (const absl::Status& result :
       meet_all({options_of(2, 3), options_of(0, 3), options_of(1, 3)})) {
    EXPECT_OK(result);
  }
}

TEST_F(RendezvousTest, TellsEachTimeThatItIsHere) {
  int told = 0;
  RendezvousOptions zero = options_of(0, 2);
  zero.published = [&] { ++told; };
  zero.timeout = absl::Seconds(5);
  EXPECT_THAT(meet(zero), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GE(told, 9) << "twice a second";
}

TEST_F(RendezvousTest, ARankThatWaitsSaysSo) {
  std::vector<std::string> lines;
  set_log_sink([&](LogSeverity, absl::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(meet(options_of(0, 4)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("waiting for ranks 1, 2, 3 of 4 to come, at most 55s"),
                                 HasSubstr("waiting for ranks 1, 2, 3 of 4 to come, at most 25s")));
  lines.clear();
  store_.erase(key("verdict"));
  EXPECT_FALSE(meet(options_of(1, 4), [&] { shows_life(0); }).ok());
  set_log_sink(nullptr);
  EXPECT_THAT(lines, Contains(HasSubstr("waiting for rank 0 to find all ranks there")));
}

TEST_F(RendezvousTest, Rank0LogsRefusalsWhileItWaits) {
  std::vector<std::string> lines;
  set_log_sink([&](LogSeverity, absl::string_view line) { lines.emplace_back(line); });
  int sleeps = 0;
  EXPECT_FALSE(meet(options_of(0, 2), [&] {
                 if (++sleeps == 1) EXPECT_OK(store_.set(key("refusal/1"), "rank 1 was refused"));
                 if (sleeps == 1) EXPECT_OK(store_.add(key("refusals"), 1).status());
                 if (sleeps == 200) EXPECT_OK(store_.add("strangers", 1).status());
               }).ok());
  set_log_sink(nullptr);
  EXPECT_THAT(lines, IsSupersetOf({HasSubstr("rank 1 was refused"), HasSubstr("JOB_SECRET")}));
  EXPECT_EQ(lines.size(), 4) << "with two about the wait";
}

TEST_F(RendezvousTest, MissingRanksAreNamedOnAllOthers) {
  std::vector<RendezvousOptions> ranks = {options_of(0, 4), options_of(2, 4)};
  for (RendezvousOptions& options : ranks) options.timeout = absl::Milliseconds(200);
  for (const absl::Status& result : meet_all(ranks)) {
    EXPECT_EQ(result, absl::UnavailableError("ranks 1, 3 of 4 did not come within 200ms"));
  }
}

TEST_F(RendezvousTest, RankThatDiffersIsRefusedAndRank0SaysSo) {
  std::vector<RendezvousOptions> ranks = {options_of(0, 2), options_of(1, 2)};
  ranks[1].identity.config = "a: 1\nb: 3\n";
  ranks[0].timeout = absl::Milliseconds(300);
  std::vector<absl::Status> results = meet_all(ranks);
  const std::string difference =
      "rank 1 was refused: it is not of the job of rank 0: configuration, line 2: \"b: 3\" here, "
      "\"b: 2\" at rank 0; all ranks of a job need the same job, and each job a MASTER_PORT of its "
      "own";
  EXPECT_EQ(results[1], absl::FailedPreconditionError(difference));
  EXPECT_THAT(results[0],
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("rank 1 of 2 did not come"), HasSubstr("; " + difference))));
}

TEST_F(RendezvousTest, NoLostAnswerEndsARank) {
  store_.loses_sums = true;
  std::vector<RendezvousOptions> ranks = {options_of(0, 3), options_of(1, 3), options_of(2, 3)};
  for (const absl::Status& result : meet_all(ranks)) EXPECT_OK(result);
  ranks = {options_of(0, 3), options_of(1, 3)};
  for (RendezvousOptions& options : ranks) options.timeout = absl::Milliseconds(200);
  store_.erase("start");
  EXPECT_EQ(meet_all(ranks)[1], absl::UnavailableError("rank 2 of 3 did not come within 200ms"));
}

TEST_F(RendezvousTest, SecondOfARankIsRefusedIfTheFirstShowsLife) {
  EXPECT_OK(meet_all({options_of(0, 2), options_of(1, 2)})[0]);
  const absl::Status status = meet(options_of(1, 2), [&] { shows_life(1); });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("it came twice: 2 processes have rank 1 of this job")));
  EXPECT_EQ(kind_of(status), FailureKind::kBusy);
  EXPECT_EQ(store_.peek(key("failure")), std::nullopt);
}

TEST_F(RendezvousTest, SecondOfARankFailsAStartInWhichTheFirstIsSilent) {
  EXPECT_OK(meet_all({options_of(0, 2), options_of(1, 2)})[0]);
  shows_life(1, {.phase = RankPhase::kData, .step = 12});
  const absl::Status failure = peer_error(
      1, RankPhase::kData, 12,
      "another process of this rank has come, and this one shows no sign of life for 6s");
  EXPECT_EQ(meet(options_of(1, 2)), failure);
  EXPECT_LT(took_, absl::Seconds(7));
  EXPECT_EQ(store_.peek(key("failure")), std::string(failure.message()));
}

TEST_F(RendezvousTest, SecondOfARankFailsNoStartThatTheFirstHasLeft) {
  EXPECT_OK(meet_all({options_of(0, 2), options_of(1, 2)})[0]);
  shows_life(1, {.phase = RankPhase::kEnd, .left = true});
  EXPECT_THAT(meet(options_of(1, 2)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("this one has left")));
  EXPECT_EQ(store_.peek(key("failure")), std::nullopt);
}

// The first process is silent while the ranks gather. Rank 0 waits for the second one.
TEST_F(RendezvousTest, SecondOfARankTakesItsPlaceWhileTheRanksGather) {
  rank_0_has_come(3);
  comes(1);
  EXPECT_OK(meet(options_of(1, 3), [&] {
    shows_life(0);
    const std::string holder = store_.peek(key("came/1")).value_or("");
    if (holder != "first") EXPECT_OK(store_.set(key("verdict"), "0 a," + holder + ",c"));
  }));
  EXPECT_GE(took_, absl::Seconds(6));
  EXPECT_EQ(store_.peek(key("later/1")), store_.peek(key("came/1")));

  store_.erase("start");
  bool came = false;
  EXPECT_EQ(meet(options_of(0, 3),
                 [&] {
                   if (!came) comes(1);
                   came = true;
                   EXPECT_OK(store_.set(key("later/1"), "second"));
                 }),
            absl::UnavailableError("rank 2 of 3 did not come within 1m"));
}

// A rank that wakes up after a later process has taken its place.
TEST_F(RendezvousTest, FirstOfARankIsRefusedOnceTheSecondHasItsPlace) {
  for (const bool have_met : {false, true}) {
    rank_0_has_come(2);
    EXPECT_THAT(meet(options_of(1, 2),
                     [&] {
                       EXPECT_OK(store_.set(key("came/1"), "second"));
                       shows_life(1);
                       if (have_met) EXPECT_OK(store_.set(key("verdict"), "0 zero,second"));
                     }),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it came twice")));
    store_.erase("start");
  }
}

struct OldStart {
  const char* name;
  std::string job;      // "": that of the new start
  std::string verdict;  // "": none
};

// A launcher's store has an earlier start, all of whose ranks are gone.
TEST_F(RendezvousTest, AnOldStartIsNotFollowed) {
  for (const OldStart& old : {OldStart{"has met", "", "0 first,first"},
                              OldStart{"did not meet", "", "14 rank 1 of 2 did not come"},
                              OldStart{"died before", "", ""},
                              OldStart{"of another size", "millrace job 1", "0 first,first"}}) {
    rank_0_has_come(2);
    const std::optional<std::string> job = store_.peek(key("job"));
    if (!old.job.empty()) EXPECT_OK(store_.set(key("job"), old.job));
    if (!old.verdict.empty()) EXPECT_OK(store_.set(key("verdict"), old.verdict));
    comes(1);
    RendezvousOptions one = options_of(1, 2);
    one.store_outlives_ranks = true;
    int polls = 0;
    EXPECT_OK(meet(one, [&] {
      if (++polls == 500) new_start("1-new", job);
      const std::optional<std::string> came = store_.peek("1-new/came/1");
      if (came) EXPECT_OK(store_.set("1-new/verdict", "0 zero," + *came));
    })) << old.name;
    store_.erase("start");
    store_.erase("1-new/came/1");
    store_.erase("1-new/verdict");
  }
  rank_0_has_come(2);
  RendezvousOptions one = options_of(1, 2);
  one.store_outlives_ranks = true;
  EXPECT_EQ(meet(one), absl::UnavailableError("rank 0 did not come within 1m; the store holds an "
                                              "earlier start, which shows no life"));
}

struct Successor {
  const char* name;
  int restart_count;
  bool old_shows_life;
  bool old_has_left;
  absl::Duration least;  // until it begins
};

TEST_F(RendezvousTest, Rank0ReplacesAStartThatHasEnded) {
  for (const Successor& next :
       {Successor{"of another count", 1, true, false, absl::ZeroDuration()},
        Successor{"of the same count, left", 0, false, true, absl::ZeroDuration()},
        Successor{"of the same count, silent", 0, false, false, absl::Seconds(6)}}) {
    rank_0_has_come(2);
    const std::string old = store_.peek("start").value();
    if (next.old_has_left) shows_life(0, {.left = true});
    RendezvousOptions zero = options_of(0, 2);
    zero.store_outlives_ranks = true;
    zero.restart_count = next.restart_count;
    EXPECT_OK(meet(zero, [&] {
      if (store_.peek("start") != old) return comes(1);
      if (next.old_shows_life) shows_life(0);
    })) << next.name;
    EXPECT_GE(took_, next.least) << next.name;
    EXPECT_LT(took_, next.least + absl::Seconds(1)) << next.name;
    store_.erase("start");
  }
  rank_0_has_come(2);
  EXPECT_THAT(meet(options_of(0, 2), [&] { shows_life(0); }),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it came twice")));
}

TEST_F(RendezvousTest, ARankOfAnOldStartNeitherReadsNorWritesTheNewOne) {
  rank_0_has_come(2);
  FakeClock clock;
  StartStore start(store_, store_.peek("start").value(), absl::Seconds(1), clock);
  EXPECT_OK(start.set("a", "1"));
  new_start("0-new");
  EXPECT_OK(store_.set("0-new/a", "2"));
  EXPECT_THAT(start.get("a"), IsOkAndHolds("1")) << "the name was just read";
  clock.advance(absl::Seconds(1));
  const auto replaced = StatusIs(absl::StatusCode::kAborted, HasSubstr("was started again"));
  EXPECT_THAT(start.set("b", "1"), replaced);
  EXPECT_THAT(start.set_once("b", "1"), replaced);
  EXPECT_THAT(start.add("b", 1), replaced);
  EXPECT_THAT(start.get("a"), replaced);
  EXPECT_EQ(store_.peek(start.name() + "/b"), std::nullopt);
  EXPECT_EQ(store_.peek("0-new/b"), std::nullopt);
  EXPECT_TRUE(start.replaced());
}

TEST_F(RendezvousTest, RankThatDiedAfterItCameIsNamed) {
  bool came = false;
  EXPECT_EQ(meet(options_of(0, 3),
                 [&] {
                   if (!came) comes(1);
                   came = true;
                 }),
            peer_error(1, RankPhase::kRendezvous, 0, "no sign of life for 6s"));
  EXPECT_LT(took_, absl::Seconds(12)) << "with the time that others have to read it";
}

TEST_F(RendezvousTest, RankThatLivesMayWaitLong) {
  bool came = false;
  EXPECT_EQ(meet(options_of(0, 3),
                 [&] {
                   if (!came) comes(1);
                   came = true;
                   shows_life(1);
                 }),
            absl::UnavailableError("rank 2 of 3 did not come within 1m"));
  EXPECT_GE(took_, absl::Minutes(1));
}

TEST_F(RendezvousTest, Rank0DoesNotCome) {
  EXPECT_EQ(meet(options_of(1, 2)), absl::UnavailableError("rank 0 did not come within 1m"));
}

TEST_F(RendezvousTest, Rank0DiesWhileItsStoreLives) {
  rank_0_has_come(3);
  EXPECT_EQ(meet(options_of(1, 3)),
            peer_error(0, RankPhase::kRendezvous, 0, "no sign of life for 6s"));
}

TEST_F(RendezvousTest, StoreGoesWithRank0) {
  rank_0_has_come(3);
  EXPECT_THAT(
      meet(options_of(1, 3),
           [&] { store_.break_with(absl::UnavailableError("connection refused")); }),
      StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr("rank 0 failed in rendezvous"),
                                                 HasSubstr("it has left: connection refused"))));
}

TEST_F(RendezvousTest, StoreThatFreezesIsGivenTime) {
  rank_0_has_come(3);
  int polls = 0;
  EXPECT_OK(meet(options_of(1, 3), [&] {
    ++polls;
    if (polls == 2) store_.break_with(absl::DeadlineExceededError("busy"));
    if (polls != 20) return;
    store_.break_with(absl::OkStatus());
    EXPECT_OK(store_.set(key("verdict"), "0 zero," + store_.peek(key("came/1")).value_or("")));
  }));
}

TEST_F(RendezvousTest, StoreThatDoesNotAnswerTheFirstCallIsGivenTime) {
  for (const int rank : {0, 1}) {
    store_.erase("start");
    if (rank == 1) rank_0_has_come(2);
    store_.break_with(absl::DeadlineExceededError("busy"));
    int polls = 0;
    EXPECT_OK(meet(options_of(rank, 2), [&] {
      if (++polls == 5) store_.break_with(absl::OkStatus());
      if (polls != 6) return;
      if (rank == 0) return comes(1);
      EXPECT_OK(store_.set(key("verdict"), "0 zero," + store_.peek(key("came/1")).value_or("")));
    })) << rank;
  }
}

TEST_F(RendezvousTest, EachCallOfTheStoreMayHaveNoAnswerOnce) {
  store_.hesitates = true;
  for (const absl::Status& result : meet_all({options_of(0, 2), options_of(1, 2)})) {
    EXPECT_OK(result);
  }
  shows_life(1, {.phase = RankPhase::kData, .step = 12});
  EXPECT_THAT(meet(options_of(1, 2)), StatusIs(absl::StatusCode::kAborted,
                                               HasSubstr("another process of this rank has come")));
}

TEST_F(RendezvousTest, ErrorsOfAStoreThatAnswersStayAsTheyAre) {
  const absl::Status denied = absl::FailedPreconditionError("another secret");
  store_.break_with(denied);
  for (const int rank : {0, 1}) EXPECT_EQ(meet(options_of(rank, 2)), denied) << rank;
}

TEST_F(RendezvousTest, AStoreOfTheLauncherThatFailsIsNotRank0s) {
  for (const auto& [status, what] :
       {std::make_pair(absl::UnavailableError("connection refused"), "is gone"),
        std::make_pair(absl::DeadlineExceededError("connection refused"), "does not answer")}) {
    store_.break_with(status);
    for (const int rank : {0, 1}) {
      RendezvousOptions options = options_of(rank, 2);
      options.store_outlives_ranks = true;
      EXPECT_EQ(meet(options), absl::AbortedError("the launcher's store " + std::string(what) +
                                                  ": connection refused"));
    }
  }
}

TEST_F(RendezvousTest, StoreThatStaysFrozenIsRank0s) {
  rank_0_has_come(3);
  EXPECT_THAT(
      meet(options_of(1, 3), [&] { store_.break_with(absl::DeadlineExceededError("no answer")); }),
      StatusIs(absl::StatusCode::kAborted,
               AllOf(HasSubstr("rank 0 failed in rendezvous"), HasSubstr("it does not answer"))));
  EXPECT_LT(took_, absl::Seconds(8));
}

TEST_F(RendezvousTest, WhatIsNoJobIsRefused) {
  new_start("0-other", "something else");
  EXPECT_THAT(meet(options_of(1, 2)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the job of rank 0 is not one of this version")));
}

TEST(IdentityDifferenceTest, SaysInWhat) {
  const JobIdentity here = {.name = "a", .version = "1", .config = "x\ny\nz"};
  EXPECT_EQ(identity_difference(2, here, 2, here), "");
  EXPECT_EQ(identity_difference(2, here, 3, here), "world size 2 here, 3 at rank 0");
  JobIdentity other = here;
  other.name = "b";
  EXPECT_EQ(identity_difference(2, here, 2, other), "job name \"a\" here, \"b\" at rank 0");
  other = here;
  other.version = "2";
  EXPECT_EQ(identity_difference(2, here, 2, other), "Millrace version \"1\" here, \"2\" at rank 0");
  other = here;
  other.config = "x\nY\nz";
  EXPECT_EQ(identity_difference(2, here, 2, other),
            "configuration, line 2: \"y\" here, \"Y\" at rank 0");
  other.config = "x\ny";
  EXPECT_EQ(identity_difference(2, here, 2, other),
            "configuration, line 3: \"z\" here, \"(end)\" at rank 0");
  EXPECT_EQ(identity_difference(2, other, 2, here),
            "configuration, line 3: \"(end)\" here, \"z\" at rank 0");
}

}  // namespace
}  // namespace millrace
