// A row optimizer.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/rows/row_optimizer.h"
#include "optim/rows/row_optimizer_registry.h"
#include "visits.pb.h"

namespace visits {
namespace {

// The update, with gradient g, rate η and weight decay λ: w ← w − η × (sign(g) + λ × w).
// Source: J. Bernstein et al., "signSGD: Compressed optimisation for non-convex problems", ICML
// 2018.
class SignSgdOptimizer : public millrace::RowOptimizer {
 public:
  static absl::StatusOr<std::unique_ptr<millrace::RowOptimizer>> create(
      const millrace::CustomConfig& custom) {
    const double weight_decay = custom.GetExtension(sign_sgd).weight_decay();
    if (!(weight_decay >= 0 && weight_decay <= 1)) {
      return absl::InvalidArgumentError("weight_decay must be 0 to 1");
    }
    return std::make_unique<SignSgdOptimizer>(static_cast<float>(weight_decay));
  }

  explicit SignSgdOptimizer(float weight_decay) : weight_decay_(weight_decay) {}

  absl::string_view name() const override { return "sign_sgd"; }

  std::vector<millrace::SlotSpec> slots(int64_t dim) const override { return {}; }

  void update(const millrace::UpdateContext& context, int64_t dim,
              absl::Span<const millrace::RowUpdate> rows) const override {
    const float rate = static_cast<float>(context.learning_rate);
    const float scale = static_cast<float>(context.gradient_scale);
    for (const millrace::RowUpdate& row : rows) {
      for (int64_t i = 0; i < dim; ++i) {
        const float gradient = scale * row.gradient[i];
        const float sign = static_cast<float>((gradient > 0) - (gradient < 0));
        row.weights[i] -= rate * (sign + weight_decay_ * row.weights[i]);
      }
    }
  }

 private:
  const float weight_decay_;
};

MILLRACE_REGISTER_ROW_OPTIMIZER(sign_sgd, "steps by the sign of the gradient",
                                &SignSgdOptimizer::create);

}  // namespace
}  // namespace visits
