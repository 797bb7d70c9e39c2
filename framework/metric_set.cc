#include "framework/metric_set.h"

#include <ATen/ATen.h>

#include <limits>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Span<const float> as_span(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

// A column as contiguous float32 on the CPU; the tensor itself where it is that already.
at::Tensor plain_column(const at::Tensor& tensor, int64_t column) {
  if (tensor.size(1) == 1 && is_plain(tensor)) return tensor;
  return tensor.select(1, column).to(at::kCPU, at::kFloat).contiguous();
}

double to_double(const at::Tensor& scalar) {
  return is_plain(scalar) ? *scalar.const_data_ptr<float>() : scalar.item<double>();
}

absl::Status check_shape(const at::Tensor& tensor, int64_t rows, size_t tasks,
                         absl::string_view what) {
  if (tensor.defined() && tensor.dim() == 2 && tensor.size(0) == rows &&
      tensor.size(1) == static_cast<int64_t>(tasks)) {
    return absl::OkStatus();
  }
  std::ostringstream shape;
  if (tensor.defined()) shape << tensor.sizes();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " are ", tensor.defined() ? shape.str() : "missing", ", but must be [",
                   rows, ", ", tasks, "]: examples and labels"));
}

absl::Status check_shapes(const StepResult& step, size_t tasks) {
  const int64_t rows =
      step.predictions.defined() && step.predictions.dim() == 2 ? step.predictions.size(0) : 0;
  RETURN_IF_ERROR(check_shape(step.predictions, rows, tasks, "predictions"));
  RETURN_IF_ERROR(check_shape(step.labels, rows, tasks, "labels"));
  if (step.weights.defined() && step.weights.numel() != rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", step.weights.numel(), " weights for ", rows, " examples"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetricSet> MetricSet::create(const std::vector<std::string>& metrics,
                                            const std::vector<std::string>& tasks) {
  MetricSet set;
  for (const std::string& task : tasks) {
    Task& entry = set.tasks_.emplace_back();
    if (tasks.size() > 1) entry.prefix = task + "/";
    for (const std::string& name : metrics) {
      ASSIGN_OR_RETURN(std::unique_ptr<Metric> metric, create_metric(name));
      entry.metrics.push_back(std::move(metric));
    }
  }
  return set;
}

absl::Status MetricSet::update(const StepResult& step) {
  if (step.examples == 0) return absl::OkStatus();
  RETURN_IF_ERROR(check_shapes(step, tasks_.size()));
  loss_sum_ += to_double(step.loss) * static_cast<double>(step.examples);
  examples_ += step.examples;
  at::Tensor weights;
  if (step.weights.defined()) weights = step.weights.to(at::kCPU, at::kFloat).contiguous();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i);
    const at::Tensor predictions = plain_column(step.predictions, column);
    const at::Tensor labels = plain_column(step.labels, column);
    const MetricInput input{as_span(predictions), as_span(labels),
                            weights.defined() ? as_span(weights) : absl::Span<const float>()};
    for (const std::unique_ptr<Metric>& metric : tasks_[i].metrics) metric->update(input);
  }
  return absl::OkStatus();
}

std::map<std::string, double> MetricSet::compute() const {
  std::map<std::string, double> values;
  values["loss"] = examples_ > 0 ? loss_sum_ / static_cast<double>(examples_)
                                 : std::numeric_limits<double>::quiet_NaN();
  for (const Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      values[absl::StrCat(task.prefix, metric->name())] = metric->compute();
    }
  }
  return values;
}

void MetricSet::reset() {
  loss_sum_ = 0;
  examples_ = 0;
  for (Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) metric->reset();
  }
}

}  // namespace millrace
