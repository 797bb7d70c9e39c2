// A HookContext whose values a test sets, to call hooks without a trainer.
#ifndef MILLRACE_TESTS_FAKES_FAKE_HOOK_CONTEXT_H_
#define MILLRACE_TESTS_FAKES_FAKE_HOOK_CONTEXT_H_

#include <map>
#include <string>
#include <utility>

#include "framework/report/reported_values.h"
#include "hook/hook.h"
#include "hook/request_queue.h"

namespace millrace {

// Returns the values of its members.
//
//   FakeHookContext context;
//   context.at.step = 100;
//   EXPECT_OK(hook.after_step(context, {}));
//   EXPECT_TRUE(context.asked.take_common().evaluates_all());
class FakeHookContext : public HookContext {
 public:
  Phase phase() const override { return phase_is; }
  const Progress& progress() const override { return at; }
  bool windowed() const override { return windowed_is; }
  int rank() const override { return rank_is; }
  int world_size() const override { return rank_is + 1; }
  bool due(const Cadence& cadence) const override {
    return (starting && cadence.at_start) || (ending && cadence.at_end) ||
           cadence.crossed(served, at, /*total_steps=*/0);
  }
  void report(absl::string_view name, double value, Reduction reduction) override {
    reported.add(name, value, reduction);
  }
  void report_distribution(absl::string_view name, Distribution distribution) override {
    distributions[std::string(name)] = std::move(distribution);
  }
  bool report_due() const override { return report_is_due; }

  Phase phase_is = Phase::kTrain;
  Progress at;
  Progress served;  // the last point at which requests were served
  bool starting = false;
  bool ending = false;
  bool windowed_is = false;
  int rank_is = 0;
  RequestQueue asked;
  ReportedValues reported;
  std::map<std::string, Distribution> distributions;
  bool report_is_due = false;

 private:
  RequestQueue& request_queue() override { return asked; }
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_FAKE_HOOK_CONTEXT_H_
