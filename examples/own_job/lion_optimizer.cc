// A row optimizer.
#include <cmath>

#include "examples/own_job/own_job.pb.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {
namespace {

float sign(float value) { return static_cast<float>((value > 0) - (value < 0)); }

// The update, with g = gradient_scale × gradient, rate η and weight decay λ:
//   w ← w − η × (sign(β₁ × m + (1 − β₁) × g) + λ × w);  m ← β₂ × m + (1 − β₂) × g
// Source: X. Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023.
class LionOptimizer : public RowOptimizer {
 public:
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const CustomConfig& custom) {
    const LionConfig& config = custom.GetExtension(lion);
    // The update computes in float32, so the numbers must be in range as float32.
    const auto is_factor = [](double beta) { return beta >= 0 && static_cast<float>(beta) < 1; };
    if (!is_factor(config.beta1()) || !is_factor(config.beta2())) {
      return absl::InvalidArgumentError("beta1 and beta2 must be at least 0 and below 1");
    }
    const float weight_decay = static_cast<float>(config.weight_decay());
    if (!(weight_decay >= 0 && std::isfinite(weight_decay))) {
      return absl::InvalidArgumentError("weight_decay must be at least 0 and finite in float32");
    }
    return std::make_unique<LionOptimizer>(config);
  }

  explicit LionOptimizer(const LionConfig& config)
      : beta1_(static_cast<float>(config.beta1())),
        beta2_(static_cast<float>(config.beta2())),
        weight_decay_(static_cast<float>(config.weight_decay())) {}

  absl::string_view name() const override { return "lion"; }

  std::vector<SlotSpec> slots(int64_t dim) const override { return {{"exp_avg", dim, 0}}; }

  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override {
    const float rate = static_cast<float>(context.learning_rate);
    const float scale = static_cast<float>(context.gradient_scale);
    for (const RowUpdate& row : rows) {
      for (int64_t i = 0; i < dim; ++i) {
        const float gradient = scale * row.gradient[i];
        float& weight = row.weights[i];
        float& average = row.slots[i];
        const float step = sign(beta1_ * average + (1 - beta1_) * gradient);
        weight -= rate * (step + weight_decay_ * weight);
        average = beta2_ * average + (1 - beta2_) * gradient;
      }
    }
  }

 private:
  const float beta1_;
  const float beta2_;
  const float weight_decay_;
};

MILLRACE_REGISTER_ROW_OPTIMIZER(lion, "steps by the sign of an average of gradients",
                                &LionOptimizer::create);

}  // namespace
}  // namespace millrace
