// A hook of one's own: how many of the labels that a model is trained on are positive.
#include <ATen/ATen.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "examples/movielens/positive_share.pb.h"
#include "framework/hook_registry.h"

namespace millrace {

// Reports "positive_share", the mean label of the training examples, of all ranks and tasks. A
// share that moves says that the data changed, or that files are read in an unlucky order; and it
// is what `calibration` is to be held against.
//
// Labels are added up where they are and read every so many steps, so that the others wait for no
// device. Steps after the last multiple count with the next; the remainder of a run is not
// reported.
class PositiveShareHook : public Hook {
 public:
  explicit PositiveShareHook(int64_t every_steps) : cadence_{.every_steps = every_steps} {}

  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources&) {
    const int64_t every_steps = config.GetExtension(positive_share).every_steps();
    if (every_steps < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("every_steps is ", every_steps, "; must be at least 1"));
    }
    return std::make_unique<PositiveShareHook>(every_steps);
  }

  absl::string_view name() const override { return "positive_share"; }

  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (context.phase() != Phase::kTrain || !result.applied) return absl::OkStatus();
    if (result.labels.defined()) {
      const at::Tensor sum = result.labels.sum(at::kDouble);
      positives_ = positives_.defined() ? positives_ + sum : sum;
      labels_ += result.labels.numel();
    }
    if (!context.due(cadence_) || labels_ == 0) return absl::OkStatus();
    context.report("positive_share", positives_.item<double>() / static_cast<double>(labels_));
    positives_ = at::Tensor();
    labels_ = 0;
    return absl::OkStatus();
  }

 private:
  const Cadence cadence_;
  at::Tensor positives_;  // float64 []; undefined: nothing yet
  int64_t labels_ = 0;
};
MILLRACE_REGISTER_HOOK(positive_share, "reports the mean label of the training examples",
                       &PositiveShareHook::create);

}  // namespace millrace
