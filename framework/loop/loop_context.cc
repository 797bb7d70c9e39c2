#include "framework/loop/loop_context.h"

#include <utility>

namespace millrace {

LoopContext::LoopContext(const LoopFacts& facts, const LoopPosition& position,
                         RequestQueue& requests, Reported training)
    : facts_(facts), position_(position), requests_(requests), training_(training) {}

bool LoopContext::due(const Cadence& cadence) const {
  return (starting_ && cadence.at_start) || (ending_ && cadence.at_end) ||
         cadence.crossed(served_, position_.progress, facts_.total_steps);
}

void LoopContext::report(absl::string_view name, double value, Reduction reduction) {
  (phase_ == Phase::kTrain ? training_.values : evaluation_values_).add(name, value, reduction);
}

void LoopContext::report_distribution(absl::string_view name, Distribution distribution) {
  if (phase_ != Phase::kTrain) return;
  training_.distributions[std::string(name)] = std::move(distribution);
}

bool LoopContext::report_due() const {
  if (phase_ != Phase::kTrain) return true;
  if (!stepping_) return due(facts_.report);
  Progress after = position_.progress;
  ++after.step;
  return facts_.report.crossed(served_, after, facts_.total_steps);
}

void LoopContext::begin_run(Phase phase) {
  evaluation_values_ = ReportedValues();
  phase_ = phase;
  mark_served();
}

}  // namespace millrace
