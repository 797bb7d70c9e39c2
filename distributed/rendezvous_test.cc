#include "distributed/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status_matchers.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/mesh/memory_job_store_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A clock that advances only while a rank sleeps; then the other ranks act.
class ScriptedClock : public FakeClock {
 public:
  void sleep(absl::Duration duration) override {
    FakeClock::sleep(duration);
    if (meanwhile) meanwhile();
  }
  std::function<void()> meanwhile;
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
      threads.emplace_back([&, i] { results[i] = meet_ranks(store_, ranks[i], Clock::real()); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  // Runs one rank, with a separate clock.
  absl::Status meet(const RendezvousOptions& options, std::function<void()> meanwhile = nullptr) {
    ScriptedClock clock;
    clock.meanwhile = std::move(meanwhile);
    absl::Status status = meet_ranks(store_, options, clock);
    took_ = clock.elapsed();
    return status;
  }

  // Simulates a rank's arrival in the store. shows_life() simulates a later heartbeat.
  void comes(int rank) {
    EXPECT_OK(store_.add("came/" + std::to_string(rank), 1).status());
    shows_life(rank);
    EXPECT_OK(store_.add("arrived", 1).status());
  }
  void shows_life(int rank) {
    EXPECT_OK(store_.set("beat/" + std::to_string(rank), format_heartbeat({.beat = ++beats_})));
  }
  // Simulates rank 0, which has come and waits for others.
  void rank_0_has_come(int world_size) {
    RendezvousOptions zero = options_of(0, world_size);
    zero.timeout = absl::ZeroDuration();
    EXPECT_THAT(meet(zero), StatusIs(absl::StatusCode::kUnavailable));
    store_.erase("verdict");
  }

  MemoryJobStore store_;
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
  store_.erase("verdict");
  EXPECT_FALSE(meet(options_of(1, 4), [&] { shows_life(0); }).ok());
  set_log_sink(nullptr);
  EXPECT_THAT(lines, Contains(HasSubstr("waiting for rank 0 to find all ranks there")));
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

TEST_F(RendezvousTest, SecondOfARankIsRefusedAndTheFirstGoesOn) {
  EXPECT_OK(meet_all({options_of(0, 2), options_of(1, 2)})[0]);
  EXPECT_THAT(meet(options_of(1, 2)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it came twice: 2 processes have rank 1 of this job")));
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
    EXPECT_OK(store_.set("verdict", "0 "));
  }));
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
  EXPECT_OK(store_.set("job", "something else"));
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
