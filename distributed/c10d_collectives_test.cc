#include "distributed/c10d_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "distributed/collectives_conformance.h"
#include "distributed/process_ranks.h"

namespace millrace {
namespace {

C10dOptions options_for(const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "job", .version = "1", .config = "a: 1\nb: 2\n"};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  return options;
}

RunRanks processes(int world_size) {
  return [world_size](const RankBody& body) {
    ProcessRanks ranks(world_size, free_port(),
                       [&](const RankEnvironment& environment, const ChildLink&) {
                         auto collectives = connect_c10d(options_for(environment));
                         if (!collectives.ok()) return collectives.status();
                         return body(*std::move(collectives));
                       });
    std::vector<absl::Status> results;
    for (int rank = 0; rank < world_size; ++rank) results.push_back(ranks.wait(rank));
    return results;
  };
}

TEST(C10dCollectivesTest, ConformanceOf1) { test_collectives_conformance(1, processes(1)); }
TEST(C10dCollectivesTest, ConformanceOf2) { test_collectives_conformance(2, processes(2)); }
TEST(C10dCollectivesTest, ConformanceOf3) { test_collectives_conformance(3, processes(3)); }

}  // namespace
}  // namespace millrace
