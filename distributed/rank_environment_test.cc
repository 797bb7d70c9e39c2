#include "distributed/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/status_matchers.h"
#include "distributed/environment/variables_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<RankEnvironment> read(const Variables& variables) {
  return read_rank_environment(getter(variables));
}

Variables two_ranks() {
  return {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
}

// Returns the environment of a rank that mpiexec of MPICH starts.
Variables mpi() {
  return {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
}

TEST(RankEnvironmentTest, NothingSetIsOneRank) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read({}));
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 1);
  EXPECT_EQ(environment.local_rank, 0);
  EXPECT_EQ(environment.local_world_size, 1);
  EXPECT_FALSE(environment.agent_store);
  EXPECT_EQ(environment.restart_count, 0);
}

TEST(RankEnvironmentTest, UsualVariables) {
  Variables variables = two_ranks();
  variables["LOCAL_RANK"] = "1";
  variables["LOCAL_WORLD_SIZE"] = "2";
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.world_size, 2);
  EXPECT_EQ(environment.local_rank, 1);
  EXPECT_EQ(environment.local_world_size, 2);
  EXPECT_EQ(environment.master_address, "node7");
  EXPECT_EQ(environment.master_port, 29500);
}

TEST(RankEnvironmentTest, SecretOfSeveralRanks) {
  Variables variables = two_ranks();
  variables["MILLRACE_JOB_SECRET"] = "5e";
  EXPECT_THAT(read(variables).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("MILLRACE_JOB_SECRET has 2 characters")));
  variables["MILLRACE_JOB_SECRET"] = std::string(32, '7');
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.secret, std::string(16, '\x77'));
  Variables nodes = {{"PET_NNODES", "2"},
                     {"PET_NODE_RANK", "1"},
                     {"PET_MASTER_ADDR", "node0"},
                     {"PET_MASTER_PORT", "1234"},
                     {"MILLRACE_JOB_SECRET", std::string(32, '7')}};
  ASSERT_OK_AND_ASSIGN(environment, read(nodes));
  EXPECT_EQ(environment.secret, std::string(16, '\x77'));
  ASSERT_OK_AND_ASSIGN(environment, read(with(with(mpi(), "MASTER_PORT", "29400"),
                                              "MILLRACE_JOB_SECRET", std::string(32, '7'))));
  EXPECT_EQ(environment.secret, std::string(16, '\x77'));
}

TEST(RankEnvironmentTest, OneRankNeedsNoMaster) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_EQ(environment.world_size, 1);
}

TEST(RankEnvironmentTest, SlurmWithMaster) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read({{"SLURM_PROCID", "3"},
                                                          {"SLURM_NTASKS", "4"},
                                                          {"SLURM_LOCALID", "1"},
                                                          {"MASTER_ADDR", "node0"},
                                                          {"MASTER_PORT", "1234"}}));
  EXPECT_EQ(environment.rank, 3);
  EXPECT_EQ(environment.world_size, 4);
  EXPECT_EQ(environment.local_rank, 1);
}

TEST(RankEnvironmentTest, SlurmWithoutMasterIsOneRank) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment,
                       read({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 1);
}

TEST(RankEnvironmentTest, UsualVariablesGoBeforeSlurms) {
  Variables variables = two_ranks();
  variables["SLURM_PROCID"] = "7";
  variables["SLURM_NTASKS"] = "9";
  variables["SLURM_LOCALID"] = "6";
  variables["LOCAL_RANK"] = "0";
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.world_size, 2);
  EXPECT_EQ(environment.local_rank, 0);
}

// Returns the environment of the only process of node 2.
Variables pod() {
  return with(with(train_job_pod(), "PET_NPROC_PER_NODE", "1"), "PET_NODE_RANK", "2");
}

TEST(RankEnvironmentTest, ANodeWithOneProcessIsARank) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(pod()));
  EXPECT_EQ(environment.rank, 2);
  EXPECT_EQ(environment.world_size, 4);
  EXPECT_EQ(environment.local_rank, 0);
  EXPECT_EQ(environment.local_world_size, 1);
  EXPECT_EQ(environment.master_address, "train-node-0-0.train");
  EXPECT_EQ(environment.master_port, 29500);
  EXPECT_FALSE(environment.agent_store) << "nothing serves a store: rank 0 does";
}

TEST(RankEnvironmentTest, OneNodeNeedsNoMaster) {
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read({{"PET_NNODES", "1"}}));
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 1);
}

// torchrun's ranks inherit the variables that torchrun read; PyTorchJob sets both kinds.
TEST(RankEnvironmentTest, UsualVariablesGoBeforeThoseOfNodes) {
  Variables variables = two_ranks();
  for (const auto& [name, value] : with(pod(), "PET_NPROC_PER_NODE", "auto")) {
    variables[name] = value;
  }
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.world_size, 2);
  EXPECT_EQ(environment.master_address, "node7");
}

TEST(RankEnvironmentTest, VariablesOfNodesGoBeforeSlurms) {
  Variables variables = with(pod(), "MASTER_ADDR", "node0");
  variables["SLURM_PROCID"] = "7";
  variables["SLURM_NTASKS"] = "9";
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 2);
  EXPECT_EQ(environment.master_address, "train-node-0-0.train");
}

TEST(RankEnvironmentTest, VariablesOfMpiGoBetweenTheUsualOnesAndThoseOfNodes) {
  Variables variables = pod();
  for (const auto& [name, value] : mpi()) variables[name] = value;
  variables["MASTER_PORT"] = "29400";
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.world_size, 2);
  EXPECT_EQ(environment.local_rank, 1);
  EXPECT_EQ(environment.local_world_size, 2);
  EXPECT_EQ(environment.master_address, "127.0.0.1");
  EXPECT_EQ(environment.master_port, 29400);
  EXPECT_FALSE(environment.other_machines);
  variables["RANK"] = "0";
  variables["WORLD_SIZE"] = "3";
  variables["MASTER_ADDR"] = "node7";
  ASSERT_OK_AND_ASSIGN(environment, read(variables));
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 3);
}

TEST(RankEnvironmentTest, LocalVariablesGoBeforeThoseOfMpi) {
  Variables variables = with(with(mpi(), "LOCAL_RANK", "0"), "LOCAL_WORLD_SIZE", "1");
  variables["MASTER_ADDR"] = "node7";
  variables["MASTER_PORT"] = "29500";
  ASSERT_OK_AND_ASSIGN(const RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.local_rank, 0);
  EXPECT_EQ(environment.local_world_size, 1);
  EXPECT_TRUE(environment.other_machines);
}

// A task of srun that is given a master, and variables of MPI.
struct SrunTask {
  const char* test;
  Variables mpi;
  int rank;  // 3: of SLURM; 1: of MPI
};

class SrunTaskTest : public testing::TestWithParam<SrunTask> {};

TEST_P(SrunTaskTest, IsARankOfTheLauncherThatStartedIt) {
  Variables variables = {{"SLURM_PROCID", "3"},         {"SLURM_NTASKS", "4"},
                         {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"},
                         {"LOCAL_WORLD_SIZE", "2"},     {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "1234"}};
  for (const auto& [name, value] : GetParam().mpi) variables[name] = value;
  ASSERT_OK_AND_ASSIGN(const RankEnvironment environment, read(variables));
  EXPECT_EQ(environment.rank, GetParam().rank);
  EXPECT_EQ(environment.local_rank, 1);
  EXPECT_EQ(environment.local_world_size, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Each, SrunTaskTest,
    testing::Values(SrunTask{"Pmi2", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, 3},
                    SrunTask{"Pmix", {{"PMIX_RANK", "1"}}, 3}, SrunTask{"Mpich", mpi(), 1},
                    SrunTask{"OpenMpi",
                             {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"PMIX_RANK", "1"}},
                             1}),
    [](const testing::TestParamInfo<SrunTask>& info) { return info.param.test; });

TEST(RankEnvironmentTest, OtherMachinesByTheRanksOfThisOne) {
  const Variables machines = with(with(with(mpi(), "MPI_LOCALNRANKS", "1"), "MASTER_ADDR", "node7"),
                                  "MASTER_PORT", "29500");
  EXPECT_TRUE(read(machines)->other_machines);
  EXPECT_FALSE(read(without(machines, "MPI_LOCALNRANKS"))->other_machines) << "unknown";

  EXPECT_FALSE(read(two_ranks())->other_machines) << "unknown";
  EXPECT_FALSE(read(with(two_ranks(), "LOCAL_WORLD_SIZE", "2"))->other_machines);
  EXPECT_TRUE(read(with(two_ranks(), "LOCAL_WORLD_SIZE", "1"))->other_machines);
  EXPECT_TRUE(read(pod())->other_machines);
}

TEST(RankEnvironmentTest, LaunchersStore) {
  Variables variables = with(two_ranks(), "TORCHELASTIC_USE_AGENT_STORE", "True");
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  ASSERT_OK_AND_ASSIGN(RankEnvironment environment, read(variables));
  EXPECT_TRUE(environment.agent_store);
  EXPECT_EQ(environment.restart_count, 2);
  ASSERT_OK_AND_ASSIGN(environment, read(with(variables, "TORCHELASTIC_USE_AGENT_STORE", "False")));
  EXPECT_FALSE(environment.agent_store);
}

class BadRankEnvironmentTest : public testing::TestWithParam<BadVariables> {};

TEST_P(BadRankEnvironmentTest, IsNamed) {
  EXPECT_THAT(read(GetParam().variables),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadRankEnvironmentTest,
    testing::Values(
        BadVariables{"RankMissing", without(two_ranks(), "RANK"),
                     "RANK is not set, but WORLD_SIZE is"},
        BadVariables{"WorldMissing", without(two_ranks(), "WORLD_SIZE"),
                     "WORLD_SIZE is not set, but RANK is"},
        BadVariables{"RankNoNumber", with(two_ranks(), "RANK", "one"),
                     "RANK is \"one\"; expected is a whole number"},
        BadVariables{"RankEmpty", with(two_ranks(), "RANK", ""),
                     "RANK is \"\"; expected is a whole number"},
        BadVariables{"RankNegative", with(two_ranks(), "RANK", "-1"),
                     "RANK is \"-1\"; expected is a number from 0 to 1"},
        BadVariables{"RankTooLarge", with(two_ranks(), "RANK", "2"),
                     "RANK is \"2\"; expected is a number from 0 to 1"},
        BadVariables{"WorldNoNumber", with(two_ranks(), "WORLD_SIZE", "2x"),
                     "WORLD_SIZE is \"2x\"; expected is a whole number"},
        BadVariables{"WorldZero", with(two_ranks(), "WORLD_SIZE", "0"),
                     "WORLD_SIZE is \"0\"; expected is a number of at least 1"},
        BadVariables{"WorldBeyondInt", with(two_ranks(), "WORLD_SIZE", "99999999999"),
                     "WORLD_SIZE is \"99999999999\"; expected is a whole number"},
        BadVariables{"SlurmNoNumber",
                     {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4(x2)"}, {"MASTER_ADDR", "a"}},
                     "SLURM_NTASKS is \"4(x2)\"; expected is a whole number"},
        BadVariables{
            "SeveralRanksOfANode", with(pod(), "PET_NPROC_PER_NODE", "2"),
            "PET_NPROC_PER_NODE is \"2\", but this is one process; start the ranks of this "
            "node with `millrace launch"},
        BadVariables{"NodeTooLarge", with(pod(), "PET_NODE_RANK", "4"),
                     "PET_NODE_RANK is \"4\"; expected is a number from 0 to 3"},
        BadVariables{"NodeWithoutAddress", without(pod(), "PET_MASTER_ADDR"),
                     "PET_MASTER_ADDR is not set, but there is more than one rank"},
        BadVariables{"LocalRankNegative", with(two_ranks(), "LOCAL_RANK", "-2"),
                     "LOCAL_RANK is \"-2\"; expected is a number of at least 0"},
        BadVariables{"LocalWorldZero", with(two_ranks(), "LOCAL_WORLD_SIZE", "0"),
                     "LOCAL_WORLD_SIZE is \"0\"; expected is a number of at least 1"},
        BadVariables{"LocalWorldZeroOfMpi", with(mpi(), "LOCAL_WORLD_SIZE", "0"),
                     "LOCAL_WORLD_SIZE is \"0\"; expected is a number of at least 1"},
        BadVariables{"TooManyRanks", with(two_ranks(), "WORLD_SIZE", "1025"),
                     "the job has 1025 ranks; at most 1024 are possible"},
        BadVariables{"LocalWorldAboveWorld", with(two_ranks(), "LOCAL_WORLD_SIZE", "3"),
                     "LOCAL_WORLD_SIZE is 3, but the job has 2 ranks"},
        BadVariables{"LocalRankAboveLocalWorld",
                     with(with(two_ranks(), "LOCAL_WORLD_SIZE", "1"), "LOCAL_RANK", "1"),
                     "LOCAL_RANK is 1, but LOCAL_WORLD_SIZE is 1"},
        BadVariables{"RestartsNegative", with(two_ranks(), "TORCHELASTIC_RESTART_COUNT", "-1"),
                     "TORCHELASTIC_RESTART_COUNT is \"-1\"; expected is a number of at least 0"},
        BadVariables{"NoAddress", without(two_ranks(), "MASTER_ADDR"),
                     "MASTER_ADDR is not set, but there is more than one rank"},
        BadVariables{"EmptyAddress", with(two_ranks(), "MASTER_ADDR", " "),
                     "MASTER_ADDR is \" \"; expected is the address of the machine of rank 0"},
        BadVariables{"NoPort", without(two_ranks(), "MASTER_PORT"),
                     "MASTER_PORT is not set, but there is more than one rank"},
        BadVariables{"PortNoNumber", with(two_ranks(), "MASTER_PORT", "http"),
                     "MASTER_PORT is \"http\"; expected is a whole number"},
        BadVariables{"PortZero", with(two_ranks(), "MASTER_PORT", "0"),
                     "MASTER_PORT is \"0\"; expected is a number from 1 to 65535"},
        BadVariables{"PortTooLarge", with(two_ranks(), "MASTER_PORT", "65536"),
                     "MASTER_PORT is \"65536\"; expected is a number from 1 to 65535"}),
    [](const testing::TestParamInfo<BadVariables>& info) { return info.param.test; });

TEST(RankEnvironmentTest, ReadsTheProcessesOwn) {
  setenv("RANK", "4", 1);
  setenv("WORLD_SIZE", "oops", 1);
  EXPECT_THAT(read_rank_environment(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"oops\"")));
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace millrace
