// The suite over ranks that are threads.
#include "distributed/collectives_conformance.h"

#include <gtest/gtest.h>

#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

RunRanks threads(int world_size) {
  return [world_size](const RankBody& body) {
    ThreadRanksOptions options;
    options.world_size = world_size;
    return run_thread_ranks(options, body);
  };
}

TEST(CollectivesConformanceTest, OneThread) { test_collectives_conformance(1, threads(1)); }
TEST(CollectivesConformanceTest, TwoThreads) { test_collectives_conformance(2, threads(2)); }
TEST(CollectivesConformanceTest, ThreeThreads) { test_collectives_conformance(3, threads(3)); }

}  // namespace
}  // namespace millrace
