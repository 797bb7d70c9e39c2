#include "distributed/environment/node_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "distributed/environment/variables_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(NodeEnvironmentTest, NoVariableIsNoNode) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node, read_node_environment(getter({})));
  EXPECT_FALSE(node);
  ASSERT_OK_AND_ASSIGN(node, read_node_environment(getter({{"PET_MASTER_ADDR", "a"}})));
  EXPECT_FALSE(node) << "the address alone describes no node";
}

TEST(NodeEnvironmentTest, APodOfATrainJob) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node,
                       read_node_environment(getter(train_job_pod())));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->nodes, 4);
  EXPECT_EQ(node->node, 3);
  EXPECT_EQ(node->ranks_per_node, 2);
  EXPECT_EQ(node->master.host, "train-node-0-0.train");
  EXPECT_EQ(node->master.port, 29500);
}

TEST(NodeEnvironmentTest, OneNodeNeedsNeitherNumberNorMaster) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node,
                       read_node_environment(getter({{"PET_NPROC_PER_NODE", "3"}})));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->nodes, 1);
  EXPECT_EQ(node->node, 0);
  EXPECT_EQ(node->ranks_per_node, 3);
}

TEST(NodeEnvironmentTest, RanksPerNodeIsOneByDefault) {
  ASSERT_OK_AND_ASSIGN(
      std::optional<NodeEnvironment> node,
      read_node_environment(getter(without(train_job_pod(), "PET_NPROC_PER_NODE"))));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->ranks_per_node, 1);
}

TEST(NodeEnvironmentTest, ARangeOfOneNumberIsThatNumber) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node,
                       read_node_environment(getter(with(train_job_pod(), "PET_NNODES", "4:4"))));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->nodes, 4);
}

TEST(NodeEnvironmentTest, FlagsGoBeforeVariables) {
  Variables variables = with(train_job_pod(), "PET_NPROC_PER_NODE", "auto");
  variables["PET_MASTER_PORT"] = "none";
  ASSERT_OK_AND_ASSIGN(
      std::optional<NodeEnvironment> node,
      read_node_environment(getter(variables), {.ranks_per_node = 5, .master_port = 31000}));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->ranks_per_node, 5);
  EXPECT_EQ(node->master.port, 31000);
}

TEST(NodeEnvironmentTest, WhoIsANodeProcess) {
  EXPECT_FALSE(is_node_process(getter({})));
  EXPECT_TRUE(is_node_process(getter(train_job_pod())));
  // PyTorchJob.
  EXPECT_TRUE(is_node_process(getter(with(train_job_pod(), "RANK", "3"))));
  // A rank of torchrun, or of another launcher, inherits PET_*.
  EXPECT_FALSE(
      is_node_process(getter(with(with(train_job_pod(), "RANK", "3"), "LOCAL_RANK", "0"))));
  EXPECT_FALSE(is_node_process(getter(with(train_job_pod(), "RANK", "7"))));
}

class BadNodeEnvironmentTest : public testing::TestWithParam<BadVariables> {};

TEST_P(BadNodeEnvironmentTest, IsNamed) {
  EXPECT_THAT(read_node_environment(getter(GetParam().variables)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadNodeEnvironmentTest,
    testing::Values(
        BadVariables{"Elastic", with(train_job_pod(), "PET_NNODES", "2:4"),
                     "PET_NNODES is \"2:4\"; expected is one number of nodes"},
        BadVariables{"NodesNoNumber", with(train_job_pod(), "PET_NNODES", "four"),
                     "PET_NNODES is \"four\"; expected is a whole number"},
        BadVariables{"NodesZero", with(train_job_pod(), "PET_NNODES", "0"),
                     "PET_NNODES is \"0\"; expected is a number of at least 1"},
        BadVariables{"NodeMissing", without(train_job_pod(), "PET_NODE_RANK"),
                     "PET_NODE_RANK is not set, but PET_NNODES is 4"},
        BadVariables{"NodeTooLarge", with(train_job_pod(), "PET_NODE_RANK", "4"),
                     "PET_NODE_RANK is \"4\"; expected is a number from 0 to 3"},
        BadVariables{"NodesMissing", without(train_job_pod(), "PET_NNODES"),
                     "PET_NODE_RANK is \"3\"; expected is a number from 0 to 0"},
        BadVariables{"NodeNegative", with(train_job_pod(), "PET_NODE_RANK", "-1"),
                     "PET_NODE_RANK is \"-1\"; expected is a number from 0 to 3"},
        BadVariables{"RanksAuto", with(train_job_pod(), "PET_NPROC_PER_NODE", "auto"),
                     "PET_NPROC_PER_NODE is \"auto\"; expected is a whole number"},
        BadVariables{"RanksZero", with(train_job_pod(), "PET_NPROC_PER_NODE", "0"),
                     "PET_NPROC_PER_NODE is \"0\"; expected is a number of at least 1"},
        BadVariables{"TooManyRanks", with(train_job_pod(), "PET_NPROC_PER_NODE", "2147483647"),
                     "PET_NNODES is 4 and PET_NPROC_PER_NODE 2147483647; these are too many ranks"},
        BadVariables{"NoAddress", without(train_job_pod(), "PET_MASTER_ADDR"),
                     "PET_MASTER_ADDR is not set, but there is more than one rank"},
        BadVariables{"EmptyAddress", with(train_job_pod(), "PET_MASTER_ADDR", ""),
                     "PET_MASTER_ADDR is \"\"; expected is the address of the machine of rank 0"},
        BadVariables{"NoPort", without(train_job_pod(), "PET_MASTER_PORT"),
                     "PET_MASTER_PORT is not set, but there is more than one rank"},
        BadVariables{"PortTooLarge", with(train_job_pod(), "PET_MASTER_PORT", "70000"),
                     "PET_MASTER_PORT is \"70000\"; expected is a number from 1 to 65535"}),
    [](const testing::TestParamInfo<BadVariables>& info) { return info.param.test; });

}  // namespace
}  // namespace millrace
