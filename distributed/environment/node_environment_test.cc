#include "distributed/environment/node_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

GetVariable getter(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

// What Kubeflow Trainer sets in a pod of a TrainJob.
Variables pod() {
  return {{"PET_NNODES", "4"},
          {"PET_NPROC_PER_NODE", "2"},
          {"PET_NODE_RANK", "3"},
          {"PET_MASTER_ADDR", "train-node-0-0.train"},
          {"PET_MASTER_PORT", "29500"}};
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(NodeEnvironmentTest, NoVariableIsNoNode) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node, read_node_environment(getter({})));
  EXPECT_FALSE(node);
  ASSERT_OK_AND_ASSIGN(node, read_node_environment(getter({{"PET_MASTER_ADDR", "a"}})));
  EXPECT_FALSE(node) << "the address alone describes no node";
}

TEST(NodeEnvironmentTest, APodOfATrainJob) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node, read_node_environment(getter(pod())));
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
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node,
                       read_node_environment(getter(without(pod(), "PET_NPROC_PER_NODE"))));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->ranks_per_node, 1);
}

TEST(NodeEnvironmentTest, ARangeOfOneNumberIsThatNumber) {
  ASSERT_OK_AND_ASSIGN(std::optional<NodeEnvironment> node,
                       read_node_environment(getter(with(pod(), "PET_NNODES", "4:4"))));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->nodes, 4);
}

TEST(NodeEnvironmentTest, FlagsGoBeforeVariables) {
  Variables variables = with(pod(), "PET_NPROC_PER_NODE", "auto");
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
  EXPECT_TRUE(is_node_process(getter(pod())));
  // PyTorchJob.
  EXPECT_TRUE(is_node_process(getter(with(pod(), "RANK", "3"))));
  // A rank of torchrun, or of another launcher, inherits PET_*.
  EXPECT_FALSE(is_node_process(getter(with(with(pod(), "RANK", "3"), "LOCAL_RANK", "0"))));
  EXPECT_FALSE(is_node_process(getter(with(pod(), "RANK", "7"))));
}

struct BadCase {
  const char* what;
  Variables variables;
  std::string message;
};

class BadNodeEnvironmentTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadNodeEnvironmentTest, IsNamed) {
  EXPECT_THAT(read_node_environment(getter(GetParam().variables)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadNodeEnvironmentTest,
    testing::Values(
        BadCase{"Elastic", with(pod(), "PET_NNODES", "2:4"),
                "PET_NNODES is \"2:4\"; expected is one number of nodes"},
        BadCase{"NodesNoNumber", with(pod(), "PET_NNODES", "four"),
                "PET_NNODES is \"four\"; expected is a whole number"},
        BadCase{"NodesZero", with(pod(), "PET_NNODES", "0"),
                "PET_NNODES is \"0\"; expected is a number of at least 1"},
        BadCase{"NodeMissing", without(pod(), "PET_NODE_RANK"),
                "PET_NODE_RANK is not set, but PET_NNODES is 4"},
        BadCase{"NodeTooLarge", with(pod(), "PET_NODE_RANK", "4"),
                "PET_NODE_RANK is \"4\"; expected is a number from 0 to 3"},
        BadCase{"NodesMissing", without(pod(), "PET_NNODES"),
                "PET_NODE_RANK is \"3\"; expected is a number from 0 to 0"},
        BadCase{"NodeNegative", with(pod(), "PET_NODE_RANK", "-1"),
                "PET_NODE_RANK is \"-1\"; expected is a number from 0 to 3"},
        BadCase{"RanksAuto", with(pod(), "PET_NPROC_PER_NODE", "auto"),
                "PET_NPROC_PER_NODE is \"auto\"; expected is a whole number"},
        BadCase{"RanksZero", with(pod(), "PET_NPROC_PER_NODE", "0"),
                "PET_NPROC_PER_NODE is \"0\"; expected is a number of at least 1"},
        BadCase{"TooManyRanks", with(pod(), "PET_NPROC_PER_NODE", "2147483647"),
                "PET_NNODES is 4 and PET_NPROC_PER_NODE 2147483647; these are too many ranks"},
        BadCase{"NoAddress", without(pod(), "PET_MASTER_ADDR"),
                "PET_MASTER_ADDR is not set, but there is more than one rank"},
        BadCase{"EmptyAddress", with(pod(), "PET_MASTER_ADDR", ""),
                "PET_MASTER_ADDR is \"\"; expected is the address of the machine of rank 0"},
        BadCase{"NoPort", without(pod(), "PET_MASTER_PORT"),
                "PET_MASTER_PORT is not set, but there is more than one rank"},
        BadCase{"PortTooLarge", with(pod(), "PET_MASTER_PORT", "70000"),
                "PET_MASTER_PORT is \"70000\"; expected is a number from 1 to 65535"}),
    [](const testing::TestParamInfo<BadCase>& info) { return info.param.what; });

}  // namespace
}  // namespace millrace
