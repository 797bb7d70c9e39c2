#include "embedding/rows/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
  for (const int world_size : {1, 2, 3, 4, 5, 6, 7, 8, 777, 1024}) {
    for (const bool fine : {false, true}) {
      for (int64_t id = -5000; id < 5000; ++id) {
        const Placement owner = {Placement{0, world_size, fine}.owner(id), world_size, fine};
        ASSERT_TRUE(owner.owns(id));
        if (!fine) {
          ASSERT_EQ(owner.rank, placement_part(id) * world_size / kPlacementParts);
        }
        ASSERT_LE(owner.first_hash(), placement_hash(id));
        ASSERT_GE(owner.last_hash(), placement_hash(id));
      }
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

// Shares of the hashes, in units of 1 / world_size.
TEST(PlacementTest, SharesOfRanks) {
  struct Row {
    int world_size;
    double smallest, largest;            // by 2^10 parts
    double smallest_fine, largest_fine;  // by 2^20 parts
  };
  const Row kRows[] = {
      {1, 1, 1, 1, 1},
      {2, 1, 1, 1, 1},
      {3, 0.99902, 1.00195, 1, 1},
      {128, 1, 1, 1, 1},
      {129, 0.88184, 1.00781, 0.99994, 1.00006},
      {200, 0.97656, 1.17188, 0.99983, 1.00002},
      {511, 0.99805, 1.49707, 1, 1.00048},
      {512, 1, 1, 1, 1},
      {513, 0.50098, 1.00195, 1, 1.00049},
      {777, 0.75879, 1.51758, 0.99962, 1.00036},
      {1000, 0.97656, 1.95312, 0.99945, 1.0004},
      {1024, 1, 1, 1, 1},
  };
  for (const Row& row : kRows) {
    for (const bool fine : {false, true}) {
      double smallest = 2, largest = 0, sum = 0;
      for (int rank = 0; rank < row.world_size; ++rank) {
        const Placement own = {rank, row.world_size, fine};
        const double share =
            std::ldexp(static_cast<double>(own.last_hash() - own.first_hash()), -64) *
            row.world_size;
        smallest = std::min(smallest, share);
        largest = std::max(largest, share);
        sum += share;
      }
      SCOPED_TRACE(testing::Message() << row.world_size << (fine ? ", fine" : ""));
      EXPECT_NEAR(smallest, fine ? row.smallest_fine : row.smallest, 1e-5);
      EXPECT_NEAR(largest, fine ? row.largest_fine : row.largest, 1e-5);
      EXPECT_NEAR(sum, row.world_size, 1e-6 * row.world_size);
    }
  }
}

}  // namespace
}  // namespace millrace
