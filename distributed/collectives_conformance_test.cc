// The suite over ranks that are threads.
#include "distributed/collectives_conformance.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

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

// Each rank is late at different collectives.
TEST(CollectivesConformanceTest, ThreeThreadsWithDelays) {
  test_collectives_conformance(3, [](const RankBody& body) {
    ThreadRanksOptions options;
    options.world_size = 3;
    options.inject = [](const CollectiveCall& call) {
      std::mt19937_64 random(call.ordinal * 3 + call.rank);
      for (uint64_t i = random() % 3 == 0 ? random() % 300 : 0; i > 0; --i) {
        std::this_thread::yield();
      }
      return absl::OkStatus();
    };
    return run_thread_ranks(options, body);
  });
}

TEST(CollectivesConformanceTest, OneThread) { test_collectives_conformance(1, threads(1)); }
TEST(CollectivesConformanceTest, TwoThreads) { test_collectives_conformance(2, threads(2)); }
TEST(CollectivesConformanceTest, ThreeThreads) { test_collectives_conformance(3, threads(3)); }

}  // namespace
}  // namespace millrace
