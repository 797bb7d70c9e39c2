#include "tools/launch/node_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "distributed/environment/variables_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Variables kPod = with(with(train_job_pod(), "PET_NNODES", "3"), "PET_NODE_RANK", "2");

TEST(NodeRanksTest, WithoutVariablesTheFlagsSayAll) {
  ASSERT_OK_AND_ASSIGN(NodeRanks ranks,
                       read_node_ranks(getter({}), {.ranks_per_node = 3, .master_port = 31000}));
  EXPECT_EQ(ranks.count, 3);
  EXPECT_EQ(ranks.first, 0);
  EXPECT_EQ(ranks.world_size, 3);
  EXPECT_EQ(ranks.master.host, "127.0.0.1");
  EXPECT_EQ(ranks.master.port, 31000);
}

TEST(NodeRanksTest, TheNumberOfRanksComesFromAFlagOrAVariable) {
  EXPECT_THAT(read_node_ranks(getter({}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--ranks is required")));
  ASSERT_OK_AND_ASSIGN(NodeRanks ranks, read_node_ranks(getter({{"PET_NPROC_PER_NODE", "2"}}), {}));
  EXPECT_EQ(ranks.count, 2);
  ASSERT_OK_AND_ASSIGN(
      ranks, read_node_ranks(getter({{"PET_NPROC_PER_NODE", "auto"}}), {.ranks_per_node = 4}));
  EXPECT_EQ(ranks.count, 4);
}

TEST(NodeRanksTest, ANodeOfSeveral) {
  ASSERT_OK_AND_ASSIGN(NodeRanks ranks, read_node_ranks(getter(kPod), {}));
  EXPECT_EQ(ranks.world_size, 6);
  EXPECT_THAT(rank_variables(ranks, 1, ranks.master.port),
              ElementsAre("RANK=5", "WORLD_SIZE=6", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                          "MASTER_ADDR=train-node-0-0.train", "MASTER_PORT=29500"));
}

TEST(NodeRanksTest, OneNodeMeetsOnItsMachine) {
  Variables variables = kPod;
  variables["PET_NNODES"] = "1";
  variables["PET_NODE_RANK"] = "0";
  ASSERT_OK_AND_ASSIGN(NodeRanks ranks, read_node_ranks(getter(variables), {}));
  EXPECT_EQ(ranks.master.port, 0) << "a port that is free";
  EXPECT_THAT(rank_variables(ranks, 0, 4242),
              ElementsAre("RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2",
                          "MASTER_ADDR=127.0.0.1", "MASTER_PORT=4242"));
}

TEST(NodeRanksTest, BadVariablesAreNamed) {
  Variables variables = kPod;
  variables.erase("PET_NODE_RANK");
  EXPECT_THAT(read_node_ranks(getter(variables), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PET_NODE_RANK is not set")));
}

}  // namespace
}  // namespace millrace
