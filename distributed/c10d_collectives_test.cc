#include "distributed/c10d_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/collectives_conformance.h"
#include "distributed/process_ranks_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

C10dOptions options_for(const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "job", .version = "1", .config = "a: 1\nb: 2\n"};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  return options;
}

RankEnvironment environment_of(int rank, int world_size, int port) {
  RankEnvironment environment;
  environment.rank = rank;
  environment.world_size = world_size;
  environment.local_rank = rank;
  environment.local_world_size = world_size;
  environment.master_address = "127.0.0.1";
  environment.master_port = port;
  return environment;
}

RunRanks processes(int world_size, bool tables_over_c10d = false) {
  return [=](const RankBody& body) {
    ProcessRanks ranks(world_size, [&](const RankEnvironment& environment, const ChildLink&) {
      C10dOptions options = options_for(environment);
      options.tables_over_c10d = tables_over_c10d;
      auto collectives = connect_c10d(options);
      if (!collectives.ok()) return collectives.status();
      return body(*std::move(collectives));
    });
    std::vector<absl::Status> results;
    for (int rank = 0; rank < world_size; ++rank) results.push_back(ranks.wait(rank));
    return results;
  };
}

TEST(C10dCollectivesTest, ConformanceOf1) { test_collectives_conformance(1, processes(1)); }
TEST(C10dCollectivesTest, ConformanceOf2) { test_collectives_conformance(2, processes(2)); }
TEST(C10dCollectivesTest, ConformanceOf3) { test_collectives_conformance(3, processes(3)); }
TEST(C10dCollectivesTest, ConformanceOfTablesOverC10d) {
  for (int ranks : {2, 3}) test_collectives_conformance(ranks, processes(ranks, true));
}

TEST(C10dCollectivesTest, RanksWithOneSecretMeetAndOthersAreRefused) {
  const auto connect = [](const std::string& of_rank_0, const std::string& of_rank_1) {
    ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink&) {
      C10dOptions options = options_for(environment);
      options.environment.secret = environment.rank == 0 ? of_rank_0 : of_rank_1;
      options.rendezvous_timeout = absl::Seconds(3);
      options.collective_timeout = absl::Seconds(2);
      ASSIGN_OR_RETURN(const auto collectives, connect_c10d(options));
      return collectives->all_gather("x").status();
    });
    return std::vector<absl::Status>{ranks.wait(0), ranks.wait(1)};
  };
  for (const absl::Status& status : connect("secret", "secret")) EXPECT_OK(status);
  const auto refused = [](const char* why) {
    return StatusIs(
        absl::StatusCode::kFailedPrecondition,
        HasSubstr(absl::StrCat("the value of \"millrace/start\" in the store of the job ", why)));
  };
  EXPECT_THAT(connect("secret", "another")[1],
              refused("was not written by a rank with the same MILLRACE_JOB_SECRET"));
  EXPECT_THAT(connect("secret", "")[1],
              refused("is sealed, but MILLRACE_JOB_SECRET is not set here"));
  EXPECT_THAT(connect("", "secret")[1],
              refused("was not written by a rank with the same MILLRACE_JOB_SECRET"));
}

TEST(C10dCollectivesTest, TooFewOpenFiles) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {49, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const absl::Status status = connect_c10d(options_for(environment_of(0, 4, 1))).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("rank 0 of 4 needs about 50 open files, but may "
                                               "open 49"),
                                     HasSubstr("ulimit -Hn"))));
}

TEST(C10dCollectivesTest, DeviceInAProgramForTheCpu) {
#ifdef USE_C10D_NCCL
  GTEST_SKIP() << skip_build("this program is built for CUDA");
#endif
  ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink&) {
    C10dOptions options = options_for(environment);
    options.cuda_device = 1;
    return connect_c10d(options).status();
  });
  EXPECT_EQ(ranks.wait(1), absl::UnimplementedError(
                               "rank 1 is to sum tensors of cuda:1, but this program is built for "
                               "the CPU; build it with --config=cuda"));
  EXPECT_THAT(ranks.wait(0), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("cuda:1")));
}

// ---- ranks that cannot meet ----

constexpr absl::Duration kShort = absl::Seconds(2);

// Connects ranks 0 and 1 of 2 with a short time-out, after `change` has changed the options of
// each. Returns the results.
std::vector<absl::Status> connect_two(const std::function<void(C10dOptions&)>& change) {
  ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink&) {
    C10dOptions options = options_for(environment);
    options.rendezvous_timeout = kShort;
    change(options);
    return connect_c10d(options).status();
  });
  std::vector<absl::Status> results;
  for (int rank : {0, 1}) results.push_back(ranks.wait(rank));
  return results;
}

// Connects one rank alone.
absl::Status connect_one(const RankEnvironment& environment) {
  ProcessRanks ranks({environment}, [](const RankEnvironment& environment, const ChildLink&) {
    C10dOptions options = options_for(environment);
    options.rendezvous_timeout = kShort;
    return connect_c10d(options).status();
  });
  return ranks.wait(0);
}

TEST(C10dCollectivesTest, Rank0WarnsOfAnAddressThatOthersCannotReach) {
  for (const bool others_are_here : {true, false}) {
    const ReservedPort port = free_port();
    RankEnvironment environment = environment_of(0, 2, port.number);
    environment.local_world_size = others_are_here ? 2 : 1;
    ProcessRanks ranks({environment}, [](const RankEnvironment& environment, const ChildLink&) {
      std::string lines;
      set_log_sink([&](LogSeverity, absl::string_view line) { absl::StrAppend(&lines, line); });
      C10dOptions options = options_for(environment);
      options.rendezvous_timeout = kShort;
      connect_c10d(options).status().IgnoreError();
      set_log_sink(nullptr);
      return absl::OutOfRangeError(lines);
    });
    const std::string warning = "MASTER_ADDR 127.0.0.1 is 127.0.0.1 on the machine of rank 0";
    const std::string lines(ranks.wait(0).message());
    EXPECT_EQ(absl::StrContains(lines, warning), !others_are_here) << lines;
  }
}

struct Difference {
  const char* name;
  std::function<void(C10dOptions&)> make;  // on rank 1
  std::string message;
};

class DifferingRankTest : public testing::TestWithParam<Difference> {};

TEST_P(DifferingRankTest, IsRefusedAndNamedOnBoth) {
  std::vector<absl::Status> results = connect_two([](C10dOptions& options) {
    if (options.environment.rank == 1) GetParam().make(options);
  });
  EXPECT_THAT(results[1],
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(GetParam().message)));
  EXPECT_THAT(results[0], StatusIs(absl::StatusCode::kUnavailable,
                                   AllOf(HasSubstr("rank 1 of 2 did not come within 2s"),
                                         HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(
    Each, DifferingRankTest,
    testing::Values(
        Difference{"WorldSize", [](C10dOptions& o) { o.environment.world_size = 3; },
                   "rank 1 was refused: it is not of the job of rank 0: world size 3 here, 2 at "
                   "rank 0"},
        Difference{"Name", [](C10dOptions& o) { o.identity.name = "other"; },
                   "job name \"other\" here, \"job\" at rank 0"},
        Difference{"Version", [](C10dOptions& o) { o.identity.version = "2"; },
                   "Millrace version \"2\" here, \"1\" at rank 0"},
        Difference{"Configuration", [](C10dOptions& o) { o.identity.config = "a: 1\nb: 3\n"; },
                   "configuration, line 2: \"b: 3\" here, \"b: 2\" at rank 0"}),
    [](const testing::TestParamInfo<Difference>& info) { return info.param.name; });

TEST(C10dRendezvousTest, MissingRankIsNamed) {
  EXPECT_EQ(connect_one(environment_of(0, 2, free_port().number)),
            absl::UnavailableError("rank 1 of 2 did not come within 2s"));
}

TEST(C10dRendezvousTest, MasterThatIsNotThere) {
  const ReservedPort port = free_port();
  EXPECT_THAT(connect_one(environment_of(1, 2, port.number)),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("cannot reach the master, rank 0 at 127.0.0.1:" +
                                       std::to_string(port.number) + ", within 2s"),
                             HasSubstr("Connection refused"))));
}

TEST(C10dRendezvousTest, MasterWithoutAddress) {
  const ReservedPort port = free_port();
  RankEnvironment environment = environment_of(1, 2, port.number);
  environment.master_address = "no.such.host.invalid";
  EXPECT_THAT(connect_one(environment),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("\"no.such.host.invalid\"")));
}

TEST(C10dRendezvousTest, Rank0OnAnotherMachineThanTheMaster) {
  const ReservedPort port = free_port();
  RankEnvironment environment = environment_of(0, 2, port.number);
  environment.master_address = "192.0.2.1";
  EXPECT_THAT(connect_one(environment),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("192.0.2.1 is not an address of this machine")));
}

// Another program has the port, and never answers.
TEST(C10dRendezvousTest, TakenPort) {
  auto addresses = find_addresses("127.0.0.1", 0);
  ASSERT_OK(addresses.status());
  ASSERT_OK_AND_ASSIGN(Socket other, listen_on(addresses->at(0)));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(other));
  EXPECT_THAT(
      connect_one(environment_of(0, 2, address.port())),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("port " + std::to_string(address.port()) + " of 127.0.0.1 is taken")));
  EXPECT_THAT(connect_one(environment_of(1, 2, address.port())),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("cannot reach the master"),
                             HasSubstr("does not answer as the store of a job"))));
}

// The error of a rank after the meeting reaches the others at once, through the store.
TEST(C10dRendezvousTest, RankThatCannotConnectIsNamedOnAll) {
  const std::vector<absl::Status> results = connect_two([](C10dOptions& options) {
    if (options.environment.rank == 1) options.interface = "eth77";
  });
  EXPECT_THAT(results[1],
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run.distributed.interface")));
  EXPECT_THAT(results[0], StatusIs(absl::StatusCode::kAborted,
                                   HasSubstr("rank 1 failed in rendezvous of step 0: "
                                             "run.distributed.interface: \"eth77\" is no")));
}

// Returns the body of a job of two ranks, which meet and then wait until they are killed.
ProcessRanks::Body hold_job() {
  return [](const RankEnvironment& environment, const ChildLink& link) -> absl::Status {
    auto collectives = connect_c10d(options_for(environment));
    if (!collectives.ok()) return collectives.status();
    link.signal();
    for (;;) pause();
  };
}

TEST(C10dRendezvousTest, RankThatCameTwiceIsRefused) {
  ProcessRanks job(2, hold_job());
  ASSERT_TRUE(job.await_signal(0));
  ASSERT_TRUE(job.await_signal(1));
  EXPECT_THAT(connect_one(environment_of(1, 2, job.port())),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("rank 1 was refused: it came twice")));
  EXPECT_THAT(connect_one(environment_of(0, 2, job.port())),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is taken")));
}

TEST(C10dRendezvousTest, PortOfAnotherJob) {
  ProcessRanks job(2, hold_job());
  ASSERT_TRUE(job.await_signal(0));
  ProcessRanks ranks({environment_of(1, 2, job.port())},
                     [](const RankEnvironment& environment, const ChildLink&) {
                       C10dOptions options = options_for(environment);
                       options.identity.name = "mine";
                       return connect_c10d(options).status();
                     });
  EXPECT_THAT(ranks.wait(0), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("job name \"mine\" here, \"job\" at rank 0")));
}

// The launcher serves the store and restarts the ranks, whose agents may count the restarts
// differently or not at all: no start may see values of an earlier one.
TEST(C10dRendezvousTest, StoreOfTheLauncher) {
  ProcessRanks launcher(2, hold_job());  // any store is suitable
  ASSERT_TRUE(launcher.await_signal(0));
  for (int start : {1, 2, 2}) {
    std::vector<RankEnvironment> environments;
    for (int rank : {0, 1}) {
      environments.push_back(environment_of(rank, 2, launcher.port()));
      environments.back().agent_store = true;
      environments.back().restart_count = rank == 0 ? start : 1;
    }
    ProcessRanks ranks(environments, [](const RankEnvironment& environment, const ChildLink&) {
      auto collectives = connect_c10d(options_for(environment));
      if (!collectives.ok()) return collectives.status();
      return (*collectives)->all_gather("x").status();
    });
    EXPECT_OK(ranks.wait(0));
    EXPECT_OK(ranks.wait(1));
  }
}

}  // namespace
}  // namespace millrace
