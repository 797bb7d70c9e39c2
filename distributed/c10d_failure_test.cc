// Ranks are killed, stopped or absent while other ranks wait for them.
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_buffer.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The errors name this time-out. ProcessRanks::wait() has the one other limit, so that a busy
// machine fails no test.
constexpr absl::Duration kTimeout = absl::Seconds(3);

// Counts a rank's reports to the others.
class Told {
 public:
  void operator()(RankPhase phase, int64_t step) {
    MutexLock lock(mutex_);
    times_ = phase == phase_ && step == step_ ? times_ + 1 : 1;
    phase_ = phase;
    step_ = step;
  }
  // Waits until the same report was made `times` times in a row.
  void await(RankPhase phase, int64_t step, int times) {
    MutexLock lock(mutex_);
    mutex_.await([&] { return phase == phase_ && step == step_ && times_ >= times; });
  }

 private:
  Mutex mutex_;
  RankPhase phase_ = RankPhase::kEnd;
  int64_t step_ = -1;
  int times_ = 0;
};

C10dOptions options_for(const RankEnvironment& environment, Told* told) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "job", .version = "1", .config = "a: 1"};
  options.rendezvous_timeout = absl::Seconds(40);
  options.collective_timeout = kTimeout;
  if (told != nullptr) {
    options.published = [told](RankPhase phase, int64_t step) { (*told)(phase, step); };
  }
  return options;
}

[[noreturn]] void hang() {
  for (;;) pause();
}

// The work of the other ranks after the meeting.
using Survivor = std::function<absl::Status(Collectives&)>;

// Runs three ranks. The victim reaches the forward pass of step 12 and receives the signal there,
// while the others run `survivor`. Returns their results.
std::vector<absl::Status> run_with_victim(int victim, int signal_number, const Survivor& survivor,
                                          bool tables_over_c10d) {
  constexpr int kRanks = 3;
  ProcessRanks ranks(kRanks, [&](const RankEnvironment& environment, const ChildLink& link) {
    Told told;
    C10dOptions options = options_for(environment, &told);
    options.tables_over_c10d = tables_over_c10d;
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options));
    RETURN_IF_ERROR(collectives->all_gather("here").status());
    if (environment.rank != victim) return survivor(*collectives);
    collectives->set_phase(RankPhase::kForward, 12);
    // Other ranks must also have read rank 0's report, since the store ends with rank 0.
    told.await(RankPhase::kForward, 12, 3);
    link.signal();
    hang();
  });
  EXPECT_TRUE(ranks.await_signal(victim));
  ranks.send(victim, signal_number);
  std::vector<absl::Status> results;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank != victim) results.push_back(ranks.wait(rank));
  }
  return results;
}

absl::Status wait_in_control(Collectives& collectives) {
  collectives.set_phase(RankPhase::kBackward, 12);
  std::vector<int64_t> values(32, 1);
  return collectives.start_sum(absl::MakeSpan(values))->wait();
}

absl::Status wait_in_data(Collectives& collectives) {
  collectives.set_phase(RankPhase::kBackward, 12);
  return collectives.start_sum(at::ones({1 << 20}))->wait();
}

absl::Status run_exchange(Collectives& collectives, size_t bytes) {
  std::vector<ByteBuffer> sent(collectives.world_size());
  std::vector<ByteBuffer> received(collectives.world_size());
  for (ByteBuffer& message : sent) {
    message.resize(bytes);
    std::memset(message.data(), 1, bytes);
  }
  return collectives.start_exchange(sent, absl::MakeSpan(received))->wait();
}

absl::Status wait_in_tables(Collectives& collectives) {
  collectives.set_phase(RankPhase::kBackward, 12);
  return run_exchange(collectives, 100);
}

// The victim neither receives all data of the others nor sends all expected data.
absl::Status wait_in_large_tables(Collectives& collectives) {
  collectives.set_phase(RankPhase::kBackward, 12);
  return run_exchange(collectives, 16 << 20);
}

// Works during the failure, and detects it in the next collective.
absl::Status work_then_exchange(Collectives& collectives) {
  collectives.set_phase(RankPhase::kEvaluation, 12);
  absl::Status status;
  while (status.ok()) status = wait_in_control(collectives);
  return status;
}

struct Case {
  const char* name;
  int victim;
  Survivor survivor;
  bool tables_over_c10d = false;
};

std::vector<absl::Status> run_case(const Case& test, int signal_number) {
  return run_with_victim(test.victim, signal_number, test.survivor, test.tables_over_c10d);
}

class FailureTest : public testing::TestWithParam<Case> {};

TEST_P(FailureTest, KilledRankIsNamed) {
  for (const absl::Status& result : run_case(GetParam(), SIGKILL)) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted,
                                 AllOf(HasSubstr(absl::StrCat("rank ", GetParam().victim,
                                                              " failed in forward of step 12")),
                                       HasSubstr("its process ended"))));
  }
}

TEST_P(FailureTest, FrozenRankIsNamed) {
  for (const absl::Status& result : run_case(GetParam(), SIGSTOP)) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted,
                                 AllOf(HasSubstr(absl::StrCat("rank ", GetParam().victim,
                                                              " failed in forward of step 12")),
                                       HasSubstr("it shows no sign of life (time-out 3s)"))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, FailureTest,
    testing::Values(Case{"Rank0Control", 0, wait_in_control},
                    Case{"Rank1Control", 1, wait_in_control}, Case{"Rank0Data", 0, wait_in_data},
                    Case{"Rank1Data", 1, wait_in_data}, Case{"Rank0Tables", 0, wait_in_tables},
                    Case{"Rank1LargeTables", 1, wait_in_large_tables},
                    Case{"Rank0TablesOverC10d", 0, wait_in_tables, true},
                    Case{"Rank1LargeTablesOverC10d", 1, wait_in_large_tables, true},
                    Case{"Rank2Exchange", 2, work_then_exchange}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// The victim receives the signal during a transfer, after any part of the data. The test does not
// wait for reports of the victim's activity, so the others may know an older phase.
void test_lost_in_the_midst(const Survivor& run, int signal_number) {
  for (int victim : {0, 1}) {
    ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink& link) {
      Told told;
      ASSIGN_OR_RETURN(auto collectives, connect_c10d(options_for(environment, &told)));
      absl::Status status;
      for (int step = 0; status.ok(); ++step) {
        collectives->set_phase(RankPhase::kBackward, step);
        status = run(*collectives);
        if (step == 3) link.signal();
      }
      return status;
    });
    ASSERT_TRUE(ranks.await_signal(victim));
    ranks.send(victim, signal_number);
    EXPECT_THAT(ranks.wait(1 - victim),
                StatusIs(absl::StatusCode::kAborted,
                         HasSubstr(absl::StrCat("rank ", victim, " failed in "))));
  }
}

absl::Status sum_much(Collectives& collectives) {
  return collectives.start_sum(at::ones({4 << 20}))->wait();
}

absl::Status exchange_much(Collectives& collectives) { return run_exchange(collectives, 16 << 20); }

TEST(C10dFailureTest, KilledInTheMidstOfASum) { test_lost_in_the_midst(sum_much, SIGKILL); }
TEST(C10dFailureTest, KilledInTheMidstOfAnExchange) {
  test_lost_in_the_midst(exchange_much, SIGKILL);
}
TEST(C10dFailureTest, FrozenInTheMidstOfAnExchange) {
  test_lost_in_the_midst(exchange_much, SIGSTOP);
}

// The wait of a rank for its dataset may take longer than any time-out.
TEST(C10dFailureTest, WaitingForDataIsNoFailure) {
  ProcessRanks ranks(2, [](const RankEnvironment& environment, const ChildLink&) {
    Told told;
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options_for(environment, &told)));
    if (environment.rank == 1) {
      collectives->set_phase(RankPhase::kData, 5);
      // The reports are at least 0.5 s apart, so 8 of them exceed the time-out.
      told.await(RankPhase::kData, 5, 8);
    }
    return wait_in_control(*collectives);
  });
  EXPECT_THAT(ranks.wait(0), IsOk());
  EXPECT_THAT(ranks.wait(1), IsOk());
}

// A live rank that does not take part.
TEST(C10dFailureTest, AbsentRankIsNamed) {
  ProcessRanks ranks(2, [](const RankEnvironment& environment, const ChildLink& link) {
    Told told;
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options_for(environment, &told)));
    if (environment.rank == 0) return wait_in_data(*collectives);
    collectives->set_phase(RankPhase::kEvaluation, 7);
    hang();
  });
  EXPECT_THAT(ranks.wait(0),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("rank 1 failed in evaluation of step 7: it did not take part in a "
                                 "sum within 3s")));
}

// Rank 1 takes part in everything except the exchange.
TEST(C10dFailureTest, RankAbsentFromAnExchangeIsNamed) {
  ProcessRanks ranks(2, [](const RankEnvironment& environment, const ChildLink& link) {
    Told told;
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options_for(environment, &told)));
    RETURN_IF_ERROR(wait_in_control(*collectives));
    RETURN_IF_ERROR(wait_in_data(*collectives));
    if (environment.rank == 0) return wait_in_tables(*collectives);
    collectives->set_phase(RankPhase::kEvaluation, 7);
    hang();
  });
  EXPECT_THAT(ranks.wait(0),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("rank 1 failed in evaluation of step 7: it did not take part in a "
                                 "table exchange within 3s")));
}

RankEnvironment environment_at(int port, int rank, int world_size) {
  return {.rank = rank,
          .world_size = world_size,
          .local_rank = rank,
          .local_world_size = world_size,
          .master_address = "127.0.0.1",
          .master_port = port};
}

// Two of three ranks leave a frozen one and are started again, at the same address. The frozen rank
// continues while they wait for its successor.
TEST(C10dFailureTest, ARankOfAnEarlierStartDisturbsNoLaterOne) {
  const ReservedPort port = free_port();
  const auto environments = [&](const std::vector<int>& ranks) {
    std::vector<RankEnvironment> made;
    for (const int rank : ranks) made.push_back(environment_at(port.number, rank, 3));
    return made;
  };
  const auto until_failure = [](const RankEnvironment& environment, const ChildLink& link) {
    absl::StatusOr<std::unique_ptr<Collectives>> collectives =
        connect_c10d(options_for(environment, nullptr));
    RETURN_IF_ERROR(collectives.status());
    RETURN_IF_ERROR(wait_in_control(**collectives));
    link.signal();
    return work_then_exchange(**collectives);
  };
  ProcessRanks old(environments({0, 1, 2}), until_failure);
  for (const int rank : {0, 1, 2}) ASSERT_TRUE(old.await_signal(rank));
  old.send(2, SIGSTOP);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(old.wait(rank), StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 2 failed")));
  }
  const auto meet_once = [](const RankEnvironment& environment, const ChildLink& link) {
    C10dOptions options = options_for(environment, nullptr);
    options.published = [&](RankPhase, int64_t) { link.signal(); };
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options));
    return wait_in_control(*collectives);
  };
  ProcessRanks later(environments({0, 1}), meet_once);
  for (const int rank : {0, 1}) ASSERT_TRUE(later.await_signal(rank));
  old.send(2, SIGCONT);
  EXPECT_THAT(old.wait(2), StatusIs(absl::StatusCode::kAborted,
                                    HasSubstr("this process belongs to the earlier start")));
  ProcessRanks last(environments({2}), meet_once);
  EXPECT_OK(later.wait(0));
  EXPECT_OK(later.wait(1));
  EXPECT_OK(last.wait(0));
}

// Rank 1 is killed while no other rank waits for it, and only its process is started again.
TEST(C10dFailureTest, ASecondProcessOfADeadRankEndsTheStart) {
  const ReservedPort port = free_port();
  const auto body = [](const RankEnvironment& environment, const ChildLink& link) -> absl::Status {
    ASSIGN_OR_RETURN(auto collectives, connect_c10d(options_for(environment, nullptr)));
    // In a phase in which no rank looks for dead ones.
    collectives->set_phase(RankPhase::kForward, 7);
    link.signal();
    while (collectives->failure().ok()) Clock::real().sleep(absl::Milliseconds(20));
    return collectives->failure();
  };
  ProcessRanks ranks({environment_at(port.number, 0, 2), environment_at(port.number, 1, 2)}, body);
  for (const int rank : {0, 1}) ASSERT_TRUE(ranks.await_signal(rank));
  ranks.send(1, SIGKILL);
  ProcessRanks second({environment_at(port.number, 1, 2)}, body);
  for (const absl::Status& status : {second.wait(0), ranks.wait(0)}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("rank 1 failed in "),
                               HasSubstr("another process of this rank has come, and this one "
                                         "shows no sign of life for 3s"))));
  }
}

// Kills or stops a rank that came, before the last rank came.
void test_lost_in_rendezvous(int victim, int signal_number) {
  const ReservedPort port = free_port();
  std::vector<RankEnvironment> environments;
  for (int rank = 0; rank < 2; ++rank) {
    environments.push_back(environment_at(port.number, rank, 3));
  }
  ProcessRanks ranks(environments, [](const RankEnvironment& environment, const ChildLink& link) {
    C10dOptions options = options_for(environment, nullptr);
    options.published = [&](RankPhase, int64_t) { link.signal(); };
    return connect_c10d(options).status();
  });
  ASSERT_TRUE(ranks.await_signal(0));
  ASSERT_TRUE(ranks.await_signal(1));
  ranks.send(victim, signal_number);
  EXPECT_THAT(ranks.wait(1 - victim),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr(absl::StrCat("rank ", victim, " failed in rendezvous"))));
}

TEST(C10dFailureTest, Rank0KilledInRendezvous) { test_lost_in_rendezvous(0, SIGKILL); }
TEST(C10dFailureTest, Rank1KilledInRendezvous) { test_lost_in_rendezvous(1, SIGKILL); }
TEST(C10dFailureTest, Rank0StoppedInRendezvous) { test_lost_in_rendezvous(0, SIGSTOP); }
TEST(C10dFailureTest, Rank1StoppedInRendezvous) { test_lost_in_rendezvous(1, SIGSTOP); }

}  // namespace
}  // namespace millrace
