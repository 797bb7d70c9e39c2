#include "embedding/rows/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

TEST(PlacementTest, RangesOfRanksAreDisjointAndCoverAllParts) {
  for (int world_size = 1; world_size <= kPlacementParts; ++world_size) {
    int next = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      ASSERT_EQ(Placement::first_part(rank, world_size), next) << rank << " of " << world_size;
      const int end = Placement::first_part(rank + 1, world_size);
      ASSERT_GT(end, next) << rank << " of " << world_size;
      for (; next < end; ++next) ASSERT_EQ(next * world_size / kPlacementParts, rank);
    }
    ASSERT_EQ(next, kPlacementParts);
  }
}

TEST(PlacementTest, HashesOfARankAreThoseOfItsIds) {
  for (int world_size = 1; world_size <= 8; ++world_size) {
    for (int64_t id = -5000; id < 5000; ++id) {
      const Placement owner = {Placement::owner(id, world_size), world_size};
      ASSERT_TRUE(owner.owns(id));
      ASSERT_LE(owner.first_hash(), placement_hash(id));
      ASSERT_GE(owner.last_hash(), placement_hash(id));
    }
  }
  EXPECT_EQ((Placement{0, 3}.first_hash()), 0);
  EXPECT_EQ((Placement{2, 3}.last_hash()), ~uint64_t{0});
  EXPECT_EQ((Placement{0, 3}.last_hash() + 1), (Placement{1, 3}.first_hash()));
}

TEST(PlacementTest, SequentialIdsSpreadEvenly) {
  std::vector<int> ids(3);
  for (int64_t id = 0; id < 30000; ++id) ++ids[Placement::owner(id, 3)];
  for (const int count : ids) EXPECT_NEAR(count, 10000, 300);
}

}  // namespace
}  // namespace millrace
