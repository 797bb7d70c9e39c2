// A plugin whose hook has a configuration message and state in checkpoints.
#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "examples/plugins/calibration_guard.pb.h"
#include "plugin/hook_plugin.h"

namespace millrace::examples {

// Stops training when predictions have diverged from labels: when their means over some steps
// differ too much several times in a row. Decides from the batches of one rank, so only for one
// rank.
class CalibrationGuard : public Hook {
 public:
  explicit CalibrationGuard(const CalibrationGuardConfig& config)
      : config_(config), cadence_{.every_steps = config.every_steps()} {}

  static absl::StatusOr<std::unique_ptr<Hook>> create(const CalibrationGuardConfig& config,
                                                      const HookResources&) {
    return std::make_unique<CalibrationGuard>(config);
  }

  absl::string_view name() const override { return "calibration_guard"; }

  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (context.phase() != Phase::kTrain || !result.applied) return absl::OkStatus();
    if (!context.due(cadence_) || result.labels.numel() == 0) return absl::OkStatus();
    const double error =
        result.predictions.mean().item<double>() - result.labels.mean().item<double>();
    context.report("calibration_error", error);
    beyond_ = std::abs(error) > config_.max_error() ? beyond_ + 1 : 0;
    if (beyond_ >= config_.patience()) {
      context.requests().stop(absl::StrCat("predictions are ", error, " off the labels"));
    }
    return absl::OkStatus();
  }

  absl::Status save_state(HookState& state) const override {
    state = {1, absl::StrCat(beyond_)};
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const HookState> per_rank) override {
    int64_t beyond = 0;  // the value for a checkpoint that was made without this hook
    if (!per_rank.empty() &&
        (per_rank[0].version != 1 || !absl::SimpleAtoi(per_rank[0].bytes, &beyond))) {
      return absl::DataLossError("the state of calibration_guard is damaged");
    }
    beyond_ = beyond;
    return absl::OkStatus();
  }

 private:
  const CalibrationGuardConfig config_;
  const Cadence cadence_;
  int64_t beyond_ = 0;  // comparisons in a row
};
MILLRACE_PLUGIN_HOOK(calibration_guard, "stops training when predictions leave the labels",
                     &CalibrationGuard::create);

}  // namespace millrace::examples
