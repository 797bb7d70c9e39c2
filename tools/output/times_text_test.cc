#include "tools/output/times_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(TimesTextTest, PartsAddUp) {
  const RunTimes times{.data_wait = absl::Milliseconds(2),
                       .forward = absl::Milliseconds(500),
                       .backward = absl::Milliseconds(250),
                       .update = absl::Milliseconds(125),
                       .hooks = absl::Milliseconds(3),
                       .checkpoint = absl::Milliseconds(100),
                       .other = absl::Milliseconds(20)};
  EXPECT_EQ(times_text(times),
            "time         seconds    share\n"
            "forward         0.50   50.0 %\n"
            "backward        0.25   25.0 %\n"
            "update          0.12   12.5 %\n"
            "checkpoints     0.10   10.0 %\n"
            "other           0.02    2.5 %\n"
            "total           1.00  100.0 %\n");
}

TEST(TimesTextTest, ARunWithoutTimeHasNoTable) { EXPECT_EQ(times_text({}), ""); }

}  // namespace
}  // namespace millrace
