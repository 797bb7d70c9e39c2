// A loss.
#include <ATen/ATen.h>

#include "examples/own_job/own_job.pb.h"
#include "losses/loss_registry.h"

namespace millrace {
namespace {

// The pinball loss of quantile q: with e = label − output, max(q × e, (q − 1) × e).
// Source: R. Koenker, G. Bassett, "Regression quantiles", Econometrica 1978.
class QuantileLoss : public Loss {
 public:
  static absl::StatusOr<std::unique_ptr<Loss>> create(const CustomConfig& custom) {
    const double q = custom.GetExtension(quantile).quantile();
    if (!(q > 0 && q < 1)) {
      return absl::InvalidArgumentError("quantile must be above 0 and below 1");
    }
    return std::make_unique<QuantileLoss>(q);
  }

  explicit QuantileLoss(double q) : quantile_(q) {}

  absl::string_view name() const override { return "quantile"; }

  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override {
    const at::Tensor error = examples.labels - outputs;
    const at::Tensor losses = at::maximum(quantile_ * error, (quantile_ - 1) * error);
    return examples.weights.defined() ? (losses * examples.weights).sum() : losses.sum();
  }

 private:
  const double quantile_;
};

MILLRACE_REGISTER_LOSS(quantile, "pinball loss of a quantile", &QuantileLoss::create);

}  // namespace
}  // namespace millrace
