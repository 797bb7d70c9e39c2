// The trainer's implementation of HookContext.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_CONTEXT_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_CONTEXT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "base/scoped_value.h"
#include "framework/loop/loop_state.h"
#include "framework/report/reported_values.h"
#include "hook/cadence.h"
#include "hook/hook.h"
#include "hook/phase.h"
#include "hook/reported_value.h"
#include "hook/request_queue.h"

namespace millrace {

// Constant facts of a job.
struct LoopFacts {
  int rank = 0;
  int world_size = 1;
  bool windowed = false;    // true if the training data comes in windows
  Cadence report;           // cadence of reports
  int64_t total_steps = 0;  // see HookContext
};

// The HookContext of a trainer. Used on its thread.
class LoopContext : public HookContext {
 public:
  // Destination of reports of hooks in training.
  struct Reported {
    ReportedValues& values;
    std::map<std::string, Distribution>& distributions;
  };

  // Borrows all arguments.
  LoopContext(const LoopFacts& facts, const LoopPosition& position, RequestQueue& requests,
              Reported training);

  Phase phase() const override { return phase_; }
  const Progress& progress() const override { return position_.progress; }
  bool windowed() const override { return facts_.windowed; }
  int rank() const override { return facts_.rank; }
  int world_size() const override { return facts_.world_size; }
  int64_t total_steps() const override { return facts_.total_steps; }
  bool due(const Cadence& cadence) const override;
  void report(absl::string_view name, double value, Reduction reduction) override;
  void report_distribution(absl::string_view name, Distribution distribution) override;
  bool report_due() const override;
  absl::StatusOr<std::vector<std::string>> gather(absl::string_view bytes) override {
    return gather_ ? gather_(bytes) : HookContext::gather(bytes);
  }

  using Gather = std::function<absl::StatusOr<std::vector<std::string>>(absl::string_view bytes)>;
  // Sets how gather() asks the other ranks.
  void set_gather(Gather gather) { gather_ = std::move(gather); }

  // Begins a run: drops values reported between runs, and counts cadences from the current
  // position.
  void begin_run(Phase phase);
  // While the returned object lives, hooks are in `start`, in `end`, in a step that Progress does
  // not count yet, or in an evaluation.
  ScopedValue<bool> starting() { return {starting_, true}; }
  ScopedValue<bool> ending() { return {ending_, true}; }
  ScopedValue<bool> stepping() { return {stepping_, true}; }
  ScopedValue<Phase> evaluating() { return {phase_, Phase::kEvaluate}; }
  // Counts cadences from the current position, after triggered ones were served.
  void mark_served() { served_ = position_.progress; }
  // Returns the values that hooks reported in the evaluation under way.
  ReportedValues& evaluation_values() { return evaluation_values_; }

 private:
  RequestQueue& request_queue() override { return requests_; }

  const LoopFacts facts_;
  const LoopPosition& position_;
  RequestQueue& requests_;
  const Reported training_;
  Gather gather_;  // null: there is one rank
  ReportedValues evaluation_values_;
  Progress served_;
  Phase phase_ = Phase::kTrain;
  bool starting_ = false;
  bool ending_ = false;
  bool stepping_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_CONTEXT_H_
