#include "framework/ranks/gather_cursors.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

TEST(GatherCursorsTest, EveryRankGetsAllByRank) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [](std::unique_ptr<Collectives> ranks) -> absl::Status {
        Cursor own;
        own.epoch = 10 + ranks->rank();
        ASSIGN_OR_RETURN(const std::vector<Cursor> all, gather_cursors(own, *ranks));
        EXPECT_EQ(all.size(), 3u);
        for (size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank].epoch, 10 + rank);
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

}  // namespace
}  // namespace millrace
