// The long version of tests/e2e/streaming_test: a job on a growing directory, killed 50 times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/e2e/streaming_case.h"

namespace millrace {
namespace {

class StreamingKills : public StreamingCase {};

// Returns MILLRACE_SEED, which chooses the times.
uint64_t seed() {
  const char* seed = std::getenv("MILLRACE_SEED");
  return seed != nullptr ? std::stoull(seed) : 1;
}

TEST_F(StreamingKills, FiftyKills) { survive(/*kills=*/50, /*files=*/60, seed()); }

TEST_F(StreamingKills, FiftyKillsOfTwoStreams) {
  write_mixed_job();
  survive(/*kills=*/50, /*files=*/60, seed());
}

TEST_F(StreamingKills, ThirtyKillsOfOneOfTwoRanks) {
  survive_over_ranks(/*ranks=*/2, /*kills=*/30, /*files=*/40, seed());
}

}  // namespace
}  // namespace millrace
