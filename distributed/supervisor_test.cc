#include "distributed/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "distributed/mesh/memory_job_store_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Rank 1 of 3; the test writes the state of its peers to the store.
class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int rank : {0, 2}) says(rank, RankPhase::kForward, 4);
    options_.rank = 1;
    options_.world_size = 3;
    options_.timeout = absl::Seconds(1);
    options_.connection_lost = [this](int rank) { return rank == lost_; };
    options_.failed = [this] { ++failed_; };
    options_.stop_signal = [this] { return own_signal_.load(); };
    options_.peer_stop_signal = [this](int signal) { peer_signal_ = signal; };
    options_.observed = [this](int rank, RankPhase phase, int64_t step) {
      if (rank == 2) seen_of_2_ = step * 100 + static_cast<int64_t>(phase);
    };
    options_.published = [this](RankPhase phase, int64_t step) {
      MutexLock lock(mutex_);
      // The live ranks beat whenever this rank does.
      for (int rank : {0, 2}) {
        if (rank != dead_) beat(rank);
      }
      published_phase_ = phase;
      published_step_ = step;
      ++published_;
    };
    start();
  }
  void TearDown() override { supervisor_.reset(); }
  void start() { supervisor_ = std::make_unique<Supervisor>(store_, options_); }

  void beat(int rank) {
    ++said_[rank].beat;
    store_.set("beat/" + std::to_string(rank), format_heartbeat(said_[rank])).IgnoreError();
  }
  void says(int rank, RankPhase phase, int64_t step) {
    MutexLock lock(mutex_);
    said_[rank].phase = phase;
    said_[rank].step = step;
    beat(rank);
  }
  void has_stop_signal(int rank, int signal) {
    MutexLock lock(mutex_);
    said_[rank].stop_signal = signal;
    beat(rank);
  }
  void takes_part(int rank, int64_t collectives = 1) {
    MutexLock lock(mutex_);
    said_[rank].started[static_cast<int>(Channel::kData)] = collectives;
    beat(rank);
  }
  void dies(int rank) {
    MutexLock lock(mutex_);
    dead_ = rank;
  }
  void leaves(int rank) {
    MutexLock lock(mutex_);
    said_[rank].left = true;
    beat(rank);
  }
  // Waits for `count` more rounds of this rank.
  void await_rounds(int count) {
    MutexLock lock(mutex_);
    const int before = published_;
    mutex_.await([&] { return published_ >= before + count; });
  }

  // Waits for a collective that does not end.
  absl::Status wait_in_vain(absl::Duration limit = absl::Seconds(20)) {
    SupervisedWait wait;
    wait.channel = Channel::kData;
    wait.what = "a sum";
    wait.ordinal = supervisor_->count_started(Channel::kData);
    const absl::Time until = absl::Now() + limit;
    while (absl::Now() < until) {
      absl::Status status = supervisor_->look_after(wait);
      if (!status.ok()) return status;
      Clock::real().sleep(absl::Milliseconds(20));
    }
    return absl::OkStatus();
  }

  MemoryJobStore store_;
  SupervisorOptions options_;
  std::atomic<int> lost_{-1};
  std::atomic<int> failed_{0};
  std::atomic<int> own_signal_{0};
  std::atomic<int> peer_signal_{0};
  std::atomic<int64_t> seen_of_2_{-1};  // the last observed state of rank 2
  Mutex mutex_;
  Heartbeat said_[3];
  int dead_ = -1;
  RankPhase published_phase_ = RankPhase::kEnd;
  int64_t published_step_ = -1;
  int published_ = 0;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, TellsWhatTheRankDoes) {
  supervisor_->set_phase(RankPhase::kUpdate, 1'000'000'000'007);
  {
    MutexLock lock(mutex_);
    mutex_.await([&] {
      return published_phase_ == RankPhase::kUpdate && published_step_ == 1'000'000'000'007;
    });
  }
  std::optional<Heartbeat> heartbeat = parse_heartbeat(*store_.peek("beat/1"));
  ASSERT_TRUE(heartbeat.has_value());
  EXPECT_EQ(heartbeat->phase, RankPhase::kUpdate);
  EXPECT_EQ(heartbeat->step, 1'000'000'000'007);
  EXPECT_FALSE(heartbeat->left);
  supervisor_->leave();
  EXPECT_TRUE(parse_heartbeat(*store_.peek("beat/1"))->left);
  supervisor_->leave();  // a second call does nothing
}

TEST_F(SupervisorTest, TellsOfAStopSignal) {
  own_signal_ = 15;
  await_rounds(2);
  EXPECT_EQ(parse_heartbeat(*store_.peek("beat/1"))->stop_signal, 15);
}

TEST_F(SupervisorTest, ARankThatWaitsForDataLearnsOfAStopSignal) {
  supervisor_->set_phase(RankPhase::kData, 4);
  has_stop_signal(2, 15);
  while (peer_signal_ == 0) await_rounds(1);
  EXPECT_EQ(peer_signal_, 15);
}

TEST_F(SupervisorTest, ARankThatWaitsForDataFindsADeadRank) {
  supervisor_->set_phase(RankPhase::kData, 4);
  lost_ = 2;
  await_rounds(4);
  EXPECT_OK(supervisor_->failure()) << "the rank lives";
  dies(2);
  while (supervisor_->failure().ok()) await_rounds(1);
  EXPECT_THAT(supervisor_->failure(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("rank 2 failed in forward of step 4: its process ended")));
}

// No wait of this rank lasts a second, so that the closed connection alone starts the search.
TEST_F(SupervisorTest, AClosedConnectionShowsADeadRankInShortWaitsForData) {
  lost_ = 2;
  dies(2);
  const absl::Time until = absl::Now() + absl::Seconds(20);
  for (int64_t step = 5; supervisor_->failure().ok() && absl::Now() < until; ++step) {
    supervisor_->set_phase(RankPhase::kData, step);
    await_rounds(1);
  }
  EXPECT_THAT(supervisor_->failure(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("rank 2 failed in forward of step 4: its process ended")));
}

// The rank's next exchange reports the signal.
TEST_F(SupervisorTest, ARankThatComputesDoesNotAskForStopSignals) {
  has_stop_signal(2, 15);
  await_rounds(5);
  EXPECT_EQ(peer_signal_, 0);
}

TEST_F(SupervisorTest, BeatsGoOnWithoutANewPhase) { await_rounds(3); }

TEST_F(SupervisorTest, CountsCollectivesByChannel) {
  EXPECT_EQ(supervisor_->count_started(Channel::kControl), 1);
  EXPECT_EQ(supervisor_->count_started(Channel::kControl), 2);
  EXPECT_EQ(supervisor_->count_started(Channel::kData), 1);
}

TEST_F(SupervisorTest, OwnFailureReachesTheStoreOnce) {
  supervisor_->set_phase(RankPhase::kBackward, 3);
  const absl::Status error = peer_error(1, RankPhase::kBackward, 3, "out of memory");
  EXPECT_EQ(supervisor_->fail("out of memory"), error);
  EXPECT_EQ(supervisor_->fail("something else"), error);
  EXPECT_EQ(supervisor_->failure(), error);
  EXPECT_EQ(*store_.peek("failure"), std::string(error.message()));
  EXPECT_EQ(failed_, 1);
  EXPECT_EQ(wait_in_vain(), error);
}

TEST_F(SupervisorTest, TheFirstFailureOfAllRanksCounts) {
  EXPECT_OK(store_.set("failure", "rank 2 failed first"));
  EXPECT_EQ(supervisor_->fail("second"), absl::AbortedError("rank 2 failed first"));
}

TEST_F(SupervisorTest, FailureOfAnotherRankIsSeenWithoutWaiting) {
  EXPECT_OK(supervisor_->failure());
  EXPECT_OK(store_.set("failure", "rank 2 failed in update of step 9: x"));
  {
    // The heartbeat reports that the rank knows of the failure and no longer needs the store.
    MutexLock lock(mutex_);
    mutex_.await([&] {
      const std::optional<std::string> text = store_.peek("beat/1");
      return text && parse_heartbeat(*text)->knows_failure;
    });
  }
  EXPECT_EQ(supervisor_->failure(), absl::AbortedError("rank 2 failed in update of step 9: x"));
  EXPECT_EQ(failed_, 1);
}

TEST_F(SupervisorTest, AbsentRanksAreNamed) {
  takes_part(2);
  EXPECT_EQ(wait_in_vain(),
            peer_error(0, RankPhase::kForward, 4, "it did not take part in a sum within 1s"));
  EXPECT_EQ(*store_.peek("failure"), std::string(supervisor_->failure().message()));
}

TEST_F(SupervisorTest, AllTakePartAndNothingComes) {
  takes_part(0);
  takes_part(2);
  EXPECT_THAT(wait_in_vain(), StatusIs(absl::StatusCode::kAborted,
                                       HasSubstr("though all ranks live and take part")));
}

TEST_F(SupervisorTest, RanksFromWhichNoPacketComesAreNamed) {
  supervisor_.reset();
  options_.connection_silence = [](int rank) { return absl::Seconds(rank == 2 ? 1.5 : 1.4); };
  start();
  takes_part(0);
  takes_part(2);
  EXPECT_EQ(
      wait_in_vain(),
      absl::AbortedError("a sum did not end within 1s, though all ranks live and take part in "
                         "it: is the network down? For 1.5s no packet has come from rank 2"));
}

// The states of ranks 0 and 2, and the verdict of rank 1, which waits in its second collective.
struct PeerStates {
  const char* name;
  RankPhase phase[2];
  int64_t started[2];
  const char* verdict;  // part of the error; "": the wait continues
};

class SupervisorVerdictTest : public SupervisorTest,
                              public testing::WithParamInterface<PeerStates> {};

TEST_P(SupervisorVerdictTest, OnlyARankThatIsAwaitedIsExempt) {
  const PeerStates& peers = GetParam();
  for (const int i : {0, 1}) {
    says(2 * i, peers.phase[i], 4);
    takes_part(2 * i, peers.started[i]);
  }
  supervisor_->count_started(Channel::kData);
  await_rounds(2);
  const bool waits = peers.verdict[0] == '\0';
  const absl::Status verdict = wait_in_vain(waits ? absl::Seconds(2.5) : absl::Seconds(20));
  EXPECT_EQ(verdict.ok(), waits) << verdict;
  EXPECT_THAT(std::string(verdict.message()), HasSubstr(peers.verdict));
}

constexpr char kAllTakePart[] = "though all ranks live and take part in it";
constexpr RankPhase kWindow = RankPhase::kWindowWait, kSaves = RankPhase::kCheckpoint,
                    kHooks = RankPhase::kBetweenSteps, kData = RankPhase::kData;
INSTANTIATE_TEST_SUITE_P(
    Peers, SupervisorVerdictTest,
    testing::Values(
        PeerStates{"CutOffInAWindowWait", {kWindow, kWindow}, {2, 2}, kAllTakePart},
        PeerStates{"CutOffInASave", {kSaves, kSaves}, {2, 2}, kAllTakePart},
        PeerStates{"AHookHangsWhileAnotherWaitsForAWindow",
                   {kHooks, kWindow},
                   {1, 2},
                   "rank 0 failed in between steps of step 4: it did not take part in a sum"},
        PeerStates{"AHookHangsWhileAnotherWaitsForData",
                   {kData, kHooks},
                   {1, 1},
                   "rank 2 failed in between steps of step 4: it did not take part in a sum"},
        PeerStates{"ARankThatWaitsForAnotherIsNotAccused", {kData, kHooks}, {0, 1}, ""},
        PeerStates{"Data", {kData, kHooks}, {1, 2}, ""},
        PeerStates{"AWindow", {kWindow, kHooks}, {1, 2}, ""},
        PeerStates{"Files", {kSaves, kHooks}, {1, 2}, ""}),
    [](const auto& info) { return info.param.name; });

TEST_F(SupervisorTest, FilesHaveALimitOfTheirOwn) {
  supervisor_.reset();
  options_.checkpoint_timeout = absl::Seconds(2);
  start();
  says(0, RankPhase::kCheckpoint, 4);
  takes_part(2);
  EXPECT_EQ(wait_in_vain(), peer_error(0, RankPhase::kCheckpoint, 4,
                                       "it has written or loaded files for longer than 2s "
                                       "(run.distributed.checkpoint_timeout_seconds)"));
}

TEST_F(SupervisorTest, ALongWaitNamesThoseWhoAreWaitedFor) {
  Mutex mutex;
  std::string lines;
  set_log_sink([&](LogSeverity, absl::string_view line) {
    MutexLock lock(mutex);
    absl::StrAppend(&lines, line, "\n");
  });
  supervisor_.reset();
  options_.notice_interval = absl::Milliseconds(700);
  start();
  says(0, RankPhase::kCheckpoint, 4);
  says(2, RankPhase::kWindowWait, 5);
  EXPECT_OK(wait_in_vain(absl::Seconds(2)));
  {
    MutexLock lock(mutex);
    mutex.await([&] {
      return absl::StrContains(lines,
                               "waiting in a sum for rank 0 (checkpoint of step 4), rank 2 "
                               "(window wait of step 5), for ");
    });
  }
  set_log_sink(nullptr);
}

TEST_F(SupervisorTest, TimeOutDoesNotRunWhileARankWaitsForData) {
  takes_part(2);
  says(0, RankPhase::kData, 4);
  await_rounds(2);
  EXPECT_OK(wait_in_vain(absl::Seconds(2)));
  EXPECT_EQ(seen_of_2_, 400 + static_cast<int64_t>(RankPhase::kForward)) << "read in a long wait";
  says(0, RankPhase::kForward, 4);
  EXPECT_THAT(wait_in_vain(), StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 0 failed in")));
}

TEST_F(SupervisorTest, FrozenRankIsNamed) {
  dies(2);
  EXPECT_EQ(wait_in_vain(),
            peer_error(2, RankPhase::kForward, 4, "it shows no sign of life (time-out 1s)"));
}

TEST_F(SupervisorTest, WaitThatOnlyASilentRankEnds) {
  SupervisedWait wait;  // of no collective
  const absl::Duration until = Clock::real().elapsed() + absl::Seconds(2);
  while (Clock::real().elapsed() < until) {
    ASSERT_OK(supervisor_->look_after(wait));
    await_rounds(1);
  }
  dies(2);
  absl::Status verdict;
  while (verdict.ok()) {
    await_rounds(1);
    verdict = supervisor_->look_after(wait);
  }
  EXPECT_EQ(verdict,
            peer_error(2, RankPhase::kForward, 4, "it shows no sign of life (time-out 1s)"));
}

TEST_F(SupervisorTest, FrozenRankIsFoundEvenWhileAnotherWaitsForData) {
  says(0, RankPhase::kData, 4);
  dies(2);
  EXPECT_THAT(wait_in_vain(), StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 2 failed in")));
}

TEST_F(SupervisorTest, BrokenConnectionOfADeadRank) {
  dies(2);
  lost_ = 2;
  EXPECT_EQ(supervisor_->explain_broken_connection("connection reset"),
            peer_error(2, RankPhase::kForward, 4, "its process ended or its machine is gone"));
}

TEST_F(SupervisorTest, BrokenConnectionOfARankThatLeft) {
  leaves(0);
  lost_ = 0;
  EXPECT_EQ(supervisor_->explain_broken_connection("connection reset"),
            peer_error(0, RankPhase::kForward, 4, "it left the job"));
}

TEST_F(SupervisorTest, BrokenConnectionToALivingRank) {
  lost_ = 2;
  EXPECT_EQ(supervisor_->explain_broken_connection("connection reset"),
            peer_error(2, RankPhase::kForward, 4, "the connection to it broke: connection reset"));
}

TEST_F(SupervisorTest, AnErrorWithoutALostConnectionNamesThisRank) {
  EXPECT_EQ(supervisor_->explain_broken_connection("cannot listen"),
            peer_error(1, RankPhase::kRendezvous, 0, "cannot listen"));
}

TEST_F(SupervisorTest, AValueThatNoRankWroteEndsTheJob) {
  await_rounds(2);
  store_.break_with(absl::FailedPreconditionError("another secret"));
  EXPECT_EQ(wait_in_vain(), peer_error(1, RankPhase::kRendezvous, 0, "another secret"));
}

TEST_F(SupervisorTest, StoreThatIsGoneMeansRank0) {
  await_rounds(2);  // its last heartbeat is known
  store_.break_with(absl::UnavailableError("refused"));
  EXPECT_EQ(
      supervisor_->explain_broken_connection("connection reset"),
      peer_error(0, RankPhase::kForward, 4, "its process ended, and the store with it (refused)"));
}

TEST_F(SupervisorTest, StoreOfTheLauncherIsGone) {
  supervisor_.reset();
  options_.rank_0_serves_store = false;
  start();
  store_.break_with(absl::UnavailableError("refused"));
  EXPECT_EQ(supervisor_->explain_broken_connection("connection reset"),
            absl::AbortedError("the launcher's store is gone (refused)"));
}

// Neither the thread nor an accusation of this rank may end the later start.
TEST_F(SupervisorTest, AStartThatWasReplacedEndsWithThatError) {
  const absl::Status replaced = absl::AbortedError("the job was started again");
  for (const bool accuses : {false, true}) {
    supervisor_.reset();
    store_.break_with(absl::OkStatus());
    start();
    store_.break_with(replaced);
    EXPECT_EQ(accuses ? supervisor_->fail("planted")
                      : supervisor_->explain_broken_connection("connection reset"),
              replaced);
  }
}

TEST_F(SupervisorTest, StoreThatDoesNotAnswerMeansRank0) {
  await_rounds(2);
  store_.break_with(absl::DeadlineExceededError("no answer"));
  EXPECT_EQ(wait_in_vain(),
            peer_error(0, RankPhase::kForward, 4, "it shows no sign of life (time-out 1s)"));
}

// Rank 2 found this first, and left without being able to report it.
TEST_F(SupervisorTest, AStoreThatDoesNotAnswerExplainsABrokenConnection) {
  await_rounds(2);
  store_.break_with(absl::DeadlineExceededError("no answer"));
  lost_ = 2;
  EXPECT_EQ(supervisor_->explain_broken_connection("connection reset"),
            peer_error(0, RankPhase::kForward, 4,
                       "its store does not answer, and the connection to rank 2 broke: "
                       "connection reset"));
}

// As while the link of rank 0 is down for a moment.
TEST_F(SupervisorTest, StoreThatAnswersAgainEndsNothing) {
  supervisor_.reset();
  options_.timeout = absl::Seconds(4);
  start();
  takes_part(0);
  takes_part(2);
  await_rounds(2);
  store_.break_with(absl::DeadlineExceededError("No route to host"));
  EXPECT_OK(wait_in_vain(absl::Seconds(1)));
  store_.break_with(absl::OkStatus());
  await_rounds(2);
  EXPECT_OK(supervisor_->failure());
}

TEST_F(SupervisorTest, WaitsForLeavers) {
  supervisor_->leave();
  leaves(0);
  leaves(2);
  const absl::Time start = absl::Now();
  supervisor_->wait_for_leavers(absl::Seconds(30));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(SupervisorTest, DoesNotWaitLongForTheDead) {
  supervisor_->leave();
  leaves(0);
  const absl::Time start = absl::Now();
  supervisor_->wait_for_leavers(absl::Seconds(30));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10)) << "rank 2 shows no sign of life";
}

}  // namespace
}  // namespace millrace
