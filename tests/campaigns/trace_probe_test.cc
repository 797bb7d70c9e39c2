#include "tests/campaigns/trace_probe.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/campaigns/traced_child.h"

namespace millrace {
namespace {

TEST(TraceProbeTest, AgreesWithTheTracer) {
  const bool traced = run_traced([] {}, {}).ok();
#ifdef __x86_64__
  EXPECT_EQ(traced, tracing_is_allowed());
#else
  EXPECT_FALSE(traced);
#endif
}

#ifdef __x86_64__
TEST(TraceProbeTest, SkippedCasesFailWhereTracingIsAllowed) {
  if (tracing_is_allowed()) {
    EXPECT_NONFATAL_FAILURE(skip_traced("5 tests", "no luck"), "5 tests skipped, no luck, but");
  } else {
    EXPECT_EQ(skip_traced("5 tests", "no luck"), "kernel: ptrace: 5 tests skipped, no luck");
  }
}
#endif

}  // namespace
}  // namespace millrace
