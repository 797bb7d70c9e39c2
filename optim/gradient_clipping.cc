#include "optim/gradient_clipping.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "optim/dense/tensor_norm.h"
#include "optim/sparse_optimizer.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// torch.nn.utils.clip_grad_norm_ adds the same number to the norm.
constexpr double kNormEpsilon = 1e-6;

// Returns true if the loops over plain float32 memory may be used.
bool is_plain(const at::Tensor& gradient) {
  return gradient.is_cpu() && gradient.scalar_type() == at::kFloat && gradient.is_contiguous();
}

void multiply(double factor, absl::Span<const NamedParameter> parameters) {
  for (const NamedParameter& parameter : parameters) {
    at::Tensor gradient = parameter.value.grad();
    if (!gradient.defined()) continue;
    if (!is_plain(gradient)) {
      gradient.mul_(factor);
      continue;
    }
    float* values = gradient.mutable_data_ptr<float>();
    const auto as_float = static_cast<float>(factor);
    for (int64_t i = 0; i < gradient.numel(); ++i) values[i] *= as_float;
  }
}

}  // namespace

absl::StatusOr<GradientClipping> GradientClipping::create(const ClippingConfig& config) {
  RETURN_IF_ERROR(check_clipping("clipping", config));
  return GradientClipping(config);
}

double squared_norm(absl::Span<const NamedParameter> parameters) {
  double sum = 0;
  at::Tensor on_device;  // read once, because reading waits for the device
  for (const NamedParameter& parameter : parameters) {
    const at::Tensor& gradient = parameter.value.grad();
    if (!gradient.defined()) continue;
    const at::Tensor squares = sum_of_squares(gradient);
    if (gradient.is_cpu()) {
      sum += squares.item<double>();
    } else {
      on_device = on_device.defined() ? on_device + squares : squares;
    }
  }
  return on_device.defined() ? sum + on_device.item<double>() : sum;
}

GradientClipping::Result GradientClipping::clip(absl::Span<const NamedParameter> parameters,
                                                SparseOptimizer* tables, double table_scale) const {
  const c10::AutoGradMode no_gradients(false);
  return config_.has_max_norm() ? clip_by_norm(parameters, tables, table_scale)
                                : clip_by_value(parameters, table_scale);
}

GradientClipping::Result GradientClipping::clip_by_norm(absl::Span<const NamedParameter> parameters,
                                                        SparseOptimizer* tables,
                                                        double table_scale) const {
  Result result;
  const auto factor = [this](double norm) {
    return std::min(1.0, config_.max_norm() / (norm + kNormEpsilon));
  };
  const bool clips_tables = tables != nullptr && config_.over() != ClippingConfig::DENSE;
  // The update multiplies the tables' sums by `table_scale`, so their norm must include this
  // factor.
  const double dense = squared_norm(parameters);
  const double sparse =
      clips_tables ? tables->summarize(true).norm_squared * table_scale * table_scale : 0;
  double dense_factor = 1, table_factor = 1;
  // EACH clips both groups by separate norms. Otherwise one factor scales both, so that the
  // direction of the whole gradient stays the same.
  if (config_.over() == ClippingConfig::EACH) {
    result.norms = {{"gradient_norm/dense", std::sqrt(dense)},
                    {"gradient_norm/tables", std::sqrt(sparse)}};
    dense_factor = factor(std::sqrt(dense));
    table_factor = factor(std::sqrt(sparse));
  } else {
    const double norm = std::sqrt(dense + sparse);
    result.norms = {{"gradient_norm", norm}};
    dense_factor = factor(norm);
    if (clips_tables) table_factor = dense_factor;
  }
  if (dense_factor < 1) multiply(dense_factor, parameters);
  // Tables apply their factor within their update, which saves a pass over the rows' gradients.
  result.table_scale = table_scale * table_factor;
  return result;
}

GradientClipping::Result GradientClipping::clip_by_value(
    absl::Span<const NamedParameter> parameters, double table_scale) const {
  Result result;
  const double limit = config_.max_value();
  for (const NamedParameter& parameter : parameters) {
    at::Tensor gradient = parameter.value.grad();
    if (gradient.defined()) gradient.clamp_(-limit, limit);
  }
  result.table_scale = table_scale;
  if (config_.over() != ClippingConfig::DENSE) result.table_limit = limit;
  return result;
}

absl::Status check_clipping(absl::string_view where, const ClippingConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.limit_case() != ClippingConfig::LIMIT_NOT_SET) return absl::OkStatus();
  return wrong(where, "no limit, so that nothing is clipped; give max_norm or max_value");
}

}  // namespace millrace
