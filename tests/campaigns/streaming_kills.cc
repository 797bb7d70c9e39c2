// The long version of tests/e2e/streaming_test: a job on a growing directory, killed 50 times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/e2e/streaming_case.h"

namespace millrace {
namespace {

class StreamingKills : public StreamingCase {};

// MILLRACE_SEED chooses when.
TEST_F(StreamingKills, FiftyKills) {
  const char* seed = std::getenv("MILLRACE_SEED");
  survive(/*kills=*/50, /*files=*/60, seed != nullptr ? std::stoull(seed) : 1);
}

}  // namespace
}  // namespace millrace
