// Tests damaged table messages between processes, over the real connections.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "tests/ranks/bad_frames.h"

namespace millrace::bad_frames {
namespace {

TEST(BadFramesProcessesTest, EveryDamageEndsAllRanksAndIsNamed) {
  for (size_t i = 0; i < damages().size(); ++i) {
    const Damage& damage = damages()[i];
    const Exchange& exchange = exchanges()[i % exchanges().size()];
    SCOPED_TRACE(absl::StrCat(exchange.name, ": ", damage.name));
    ProcessRanks ranks(
        kRanks, [&](const RankEnvironment& environment, const ChildLink&) -> absl::Status {
          C10dOptions options;
          options.environment = environment;
          options.identity = {.name = "bad frames", .version = "test", .config = damage.name};
          options.rendezvous_timeout = absl::Seconds(30);
          options.collective_timeout = absl::Seconds(20);
          ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
          return train(std::move(collectives), exchange.number, damage.make);
        });
    std::vector<absl::Status> ends;
    for (int rank = 0; rank < kRanks; ++rank) ends.push_back(ranks.wait(rank));
    expect_damage_is_named(ends, damage);
  }
}

}  // namespace
}  // namespace millrace::bad_frames
