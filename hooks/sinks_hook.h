// Reports and evaluations for sinks.
#ifndef MILLRACE_HOOKS_SINKS_HOOK_H_
#define MILLRACE_HOOKS_SINKS_HOOK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/hook.h"
#include "framework/report/sink.h"

namespace millrace {

struct NamedSink {
  std::string name;  // for messages
  std::unique_ptr<Sink> sink;
};

// Calls the sinks of this rank. A sink that fails is logged once and not called again in this run;
// the others and the run go on.
class SinksHook : public Hook {
 public:
  static constexpr char kName[] = "sinks";

  explicit SinksHook(std::vector<NamedSink> sinks);
  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  // Reports histograms as "parameters/NAME", before the update, and "gradients/NAME", as the
  // optimizers apply them, if a sink wants them and a report is due (HookContext::report_due()).
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  struct Entry {
    NamedSink named;
    bool failed = false;
  };
  void call(absl::FunctionRef<absl::Status(Sink&)> call);
  bool wants_distributions() const;

  std::vector<Entry> sinks_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_SINKS_HOOK_H_
