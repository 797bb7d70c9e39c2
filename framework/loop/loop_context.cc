#include "framework/loop/loop_context.h"

namespace millrace {

LoopContext::LoopContext(const LoopFacts& facts, const LoopPosition& position,
                         RequestQueue& requests, ReportedValues& training_values)
    : facts_(facts), position_(position), requests_(requests), training_values_(training_values) {}

bool LoopContext::due(const Cadence& cadence) const {
  return (starting_ && cadence.at_start) || (ending_ && cadence.at_end) ||
         cadence.crossed(served_, position_.progress);
}

void LoopContext::report(absl::string_view name, double value, Reduction reduction) {
  (phase_ == Phase::kTrain ? training_values_ : evaluation_values_).add(name, value, reduction);
}

void LoopContext::begin_run(Phase phase) {
  evaluation_values_ = ReportedValues();
  phase_ = phase;
  mark_served();
}

}  // namespace millrace
