#include "distributed/one_rank_collectives.h"

#include <gtest/gtest.h>

#include "distributed/collectives_conformance.h"

namespace millrace {
namespace {

TEST(OneRankCollectivesTest, Conformance) {
  test_collectives_conformance(1, [](const RankBody& body) {
    return std::vector<absl::Status>{body(std::make_unique<OneRankCollectives>())};
  });
}

}  // namespace
}  // namespace millrace
