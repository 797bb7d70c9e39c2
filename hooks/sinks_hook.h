// Reports and evaluations for sinks.
#ifndef MILLRACE_HOOKS_SINKS_HOOK_H_
#define MILLRACE_HOOKS_SINKS_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/report/sink.h"
#include "hook/hook.h"

namespace millrace {

// Calls the sinks of this rank. After a failure, a sink is not called again in the run; other sinks
// are still called. Events return the errors of sinks that failed in the event, and end() also the
// errors of start().
//
// An evaluation or a report may follow the checkpoint of the same step. The state of the hook has
// the names written at the step of the checkpoint, so that sinks of a resumed run replace other
// names (SinkStart).
class SinksHook : public Hook {
 public:
  static constexpr char kName[] = "sinks";

  explicit SinksHook(std::vector<NamedSink> sinks);
  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  // Reports histograms as "parameters/NAME", before the update, and "gradients/NAME", as applied by
  // the optimizers, if a sink requests them and a report is due (HookContext::report_due()).
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  absl::Status save_state(HookState& state) const override;
  // Errors: InvalidArgument for a damaged state or another version.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  struct Entry {
    NamedSink named;
    bool failed = false;
  };
  // Names written at a step, in the form of SinkStart::written.
  struct Written {
    int64_t step = 0;
    std::set<std::string> names = {};
  };
  // Calls each sink that has not failed. Returns the first error, and logs other errors.
  absl::Status call(absl::FunctionRef<absl::Status(Sink&)> call);
  bool wants_distributions() const;
  void note_written(int64_t step, const std::string& name);

  std::vector<Entry> sinks_;
  absl::Status start_;              // result of start()
  int64_t first_step_ = 0;          // of this run
  std::optional<Written> written_;  // at the last step with a value; none: not known
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_SINKS_HOOK_H_
