#include "bench/measured_window.h"

#include <gtest/gtest.h>
#include <time.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(ProcessorTicks, AreThoseOfAllProcessors) {
  ASSERT_OK_AND_ASSIGN(const ProcessorTicks ticks,
                       parse_processor_ticks("cpu  100 20 3 5000 700 4 5 60 8 9\n"
                                             "cpu0 1 1 1 1 1 1 1 1 1 1\n"));
  EXPECT_EQ(ticks.busy, 100 + 20 + 3 + 4 + 5);
  EXPECT_EQ(ticks.stolen, 60);
}

TEST(ProcessorTicks, OtherTextIsRefused) {
  for (const char* text : {"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu 1 2 3 4 x 6 7 8"}) {
    EXPECT_THAT(parse_processor_ticks(text), StatusIs(absl::StatusCode::kDataLoss)) << text;
  }
}

TEST(MeasuredWindow, OwnWorkIsNotForeign) {
  ASSERT_OK_AND_ASSIGN(const MeasuredWindow window, MeasuredWindow::begin());
  const clock_t end = ::clock() + CLOCKS_PER_SEC / 5;
  while (::clock() < end) {
  }
  ASSERT_OK_AND_ASSIGN(const MeasuredWindow::Figures figures, window.end());
  EXPECT_GE(figures.seconds, 0.2);
  EXPECT_GE(figures.foreign_cores, figures.stolen_cores);
  EXPECT_GE(figures.stolen_cores, 0);
}

}  // namespace
}  // namespace millrace
