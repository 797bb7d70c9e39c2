// A hook.
#include "base/status_macros.h"
#include "examples/own_job/own_job.pb.h"
#include "hook/hook_registry.h"

namespace millrace {

// Ends training at the first report in which a metric is good enough.
class TargetMetricHook : public Hook {
 public:
  explicit TargetMetricHook(const TargetMetricConfig& config) : config_(config) {}
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources&) {
    return std::make_unique<TargetMetricHook>(config.GetExtension(target_metric));
  }

  absl::string_view name() const override { return "target_metric"; }
  absl::Status after_report(HookContext& context, const Report& report) override {
    const auto found = report.metrics.find(config_.metric());
    if (found == report.metrics.end()) return absl::NotFoundError("no metric " + config_.metric());
    if (found->second >= config_.at_least()) context.requests().stop(config_.metric() + " reached");
    return absl::OkStatus();
  }

 private:
  const TargetMetricConfig config_;
};
MILLRACE_REGISTER_HOOK(target_metric, "stops when a metric is reached", &TargetMetricHook::create);

}  // namespace millrace
