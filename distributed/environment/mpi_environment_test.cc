#include "distributed/environment/mpi_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "distributed/environment/variables_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Returns the variables of rank 3 of 4, of which two are on each machine.
Variables open_mpi() {
  return {{"OMPI_COMM_WORLD_RANK", "3"},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"PMIX_RANK", "3"},
          {"PMIX_NAMESPACE", "1142751233"}};
}

Variables mpich() {
  return {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
}

Variables srun_pmix() {
  return {{"PMIX_RANK", "3"},
          {"PMIX_NAMESPACE", "slurm.pmix.7.0"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NTASKS", "8"}};
}

Variables together(Variables variables, const Variables& others) {
  variables.insert(others.begin(), others.end());
  return variables;
}

struct Launched {
  const char* test;
  Variables variables;
  std::vector<int> numbers;  // rank, world size, local rank, local world size or -1
};

class LaunchedByMpiTest : public testing::TestWithParam<Launched> {};

TEST_P(LaunchedByMpiTest, IsARank) {
  ASSERT_OK_AND_ASSIGN(std::optional<MpiEnvironment> mpi,
                       read_mpi_environment(getter(GetParam().variables)));
  std::vector<int> numbers;
  if (mpi) {
    numbers = {mpi->rank, mpi->world_size, mpi->local_rank, mpi->local_world_size.value_or(-1)};
  }
  EXPECT_EQ(numbers, GetParam().numbers);
}

INSTANTIATE_TEST_SUITE_P(
    Each, LaunchedByMpiTest,
    testing::Values(
        Launched{"NoLauncher", {}, {}},
        Launched{"AllocationOfSlurm", {{"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_TASKS", "1"}}, {}},
        Launched{"OpenMpi", open_mpi(), {3, 4, 1, 2}}, Launched{"Mpich", mpich(), {3, 4, 1, 2}},
        Launched{"SrunPmix", srun_pmix(), {3, 4, 1, -1}},
        Launched{"SrunPmixOneNode", with(srun_pmix(), "SLURM_STEP_NUM_NODES", "1"), {3, 4, 1, 4}},
        Launched{"SrunPmi2",
                 {{"PMI_RANK", "1"},
                  {"PMI_SIZE", "2"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_STEP_NUM_NODES", "1"}},
                 {1, 2, 1, 2}},
        Launched{"OpenMpiInAStep",
                 together(open_mpi(), {{"PMI_RANK", "0"},
                                       {"PMI_SIZE", "9"},
                                       {"SLURM_STEP_NUM_NODES", "1"},
                                       {"SLURM_LOCALID", "5"}}),
                 {3, 4, 1, 2}},
        Launched{"MpichInAStep",
                 together(mpich(), {{"PMIX_RANK", "0"},
                                    {"SLURM_STEP_NUM_TASKS", "9"},
                                    {"SLURM_STEP_NUM_NODES", "1"}}),
                 {3, 4, 1, 2}}),
    [](const testing::TestParamInfo<Launched>& info) { return info.param.test; });

class BadMpiEnvironmentTest : public testing::TestWithParam<BadVariables> {};

TEST_P(BadMpiEnvironmentTest, IsNamed) {
  const GetVariable get = getter(GetParam().variables);
  absl::StatusOr<std::optional<MpiEnvironment>> mpi = read_mpi_environment(get);
  const absl::Status status = mpi.ok() ? mpi_master_address(get, **mpi).status() : mpi.status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadMpiEnvironmentTest,
    testing::Values(
        BadVariables{"NoSize", without(mpich(), "PMI_SIZE"), "PMI_SIZE is not set, but PMI_RANK"},
        BadVariables{"NoRank", without(open_mpi(), "OMPI_COMM_WORLD_RANK"),
                     "OMPI_COMM_WORLD_RANK is not set, but OMPI_COMM_WORLD_SIZE is"},
        BadVariables{"PmixAlone",
                     {{"PMIX_RANK", "0"}},
                     "SLURM_STEP_NUM_TASKS is not set, but PMIX_RANK is; if the launcher does not "
                     "set it, set WORLD_SIZE and RANK"},
        BadVariables{"RankTooLarge", with(mpich(), "PMI_RANK", "4"),
                     "PMI_RANK is \"4\"; expected is a number from 0 to 3"},
        BadVariables{"LocalTooLarge", with(mpich(), "MPI_LOCALNRANKS", "5"),
                     "MPI_LOCALNRANKS is \"5\"; expected is a number from 1 to 4"},
        BadVariables{"OtherMachines", open_mpi(),
                     "MASTER_ADDR is not set, but there are 4 ranks, of which 2 are on this "
                     "machine; give it and MASTER_PORT to every rank"},
        BadVariables{"UnknownMachines", srun_pmix(), "of which an unknown number is on this"},
        BadVariables{"AddressWithoutPort", with(open_mpi(), "MASTER_ADDR", "node7"),
                     "MASTER_PORT is not set"},
        BadVariables{"NoIdentity", with(mpich(), "MPI_LOCALNRANKS", "4"),
                     "MASTER_PORT is not set, but there is more than one rank, and the launcher"},
        BadVariables{"BadPort",
                     together(with(mpich(), "MPI_LOCALNRANKS", "4"), {{"MASTER_PORT", "0"}}),
                     "MASTER_PORT is \"0\"; expected is a number from 1 to 65535"}),
    [](const testing::TestParamInfo<BadVariables>& info) { return info.param.test; });

absl::StatusOr<MasterAddress> master_of(const Variables& variables) {
  return mpi_master_address(getter(variables), {.world_size = 4, .local_world_size = 4});
}

TEST(MpiMasterAddressTest, RanksOfOneMachineMeetAtAPortOfTheirJob) {
  ASSERT_OK_AND_ASSIGN(const MasterAddress first, master_of(open_mpi()));
  EXPECT_EQ(first.host, "127.0.0.1");
  EXPECT_GE(first.port, 15000);
  EXPECT_LT(first.port, 30000);
  EXPECT_EQ(master_of(with(open_mpi(), "OMPI_COMM_WORLD_RANK", "0"))->port, first.port);
  EXPECT_NE(master_of(with(open_mpi(), "PMIX_NAMESPACE", "1142751234"))->port, first.port);
  EXPECT_OK(master_of({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}}));
  EXPECT_EQ(master_of({{"MASTER_PORT", "29500"}})->port, 29500);
  ASSERT_OK_AND_ASSIGN(const MasterAddress given,
                       master_of({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}}));
  EXPECT_EQ(given.host, "node7");
}

TEST(MpiMasterAddressTest, RanksOfOneProcessOfMpiexecMeetAtItsPort) {
  int sockets[4];  // the ends of two ranks
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets + 2), 0);
  ASSERT_OK_AND_ASSIGN(const MasterAddress first,
                       master_of({{"PMI_FD", absl::StrCat(sockets[1])}}));
  ASSERT_OK_AND_ASSIGN(const MasterAddress other,
                       master_of({{"PMI_FD", absl::StrCat(sockets[3])}}));
  EXPECT_EQ(first.port, other.port);
  for (int socket : sockets) ::close(socket);
}

}  // namespace
}  // namespace millrace
