#include "framework/report/metric_set.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "framework/report/merge_ranges.h"

namespace millrace {
namespace {

// A share without examples has 1,024 quantiles, which are larger than this number of examples.
constexpr size_t kFewestOmitted = 512;

// Returns the elements of a contiguous tensor of type T; none for an undefined tensor.
template <typename T = float>
absl::Span<const T> as_span(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return absl::Span<const T>(tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel()));
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

// Returns a column as contiguous float32 on the CPU; the tensor itself if no conversion is
// necessary.
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

// Returns the indices of labels that are numbers, int64 [indices]; undefined if all labels are
// numbers.
at::Tensor places_with_label(const at::Tensor& labels) {
  const absl::Span<const float> values = as_span(labels);
  if (std::none_of(values.begin(), values.end(), [](float x) { return std::isnan(x); })) return {};
  std::vector<int64_t> places;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) places.push_back(static_cast<int64_t>(i));
  }
  return at::tensor(places, at::kLong);
}

constexpr uint8_t kMetricStateVersion = 1;
constexpr uint8_t kVersionWithTargets = 2;
constexpr uint8_t kVersionWithDivisor = 3;
// Limit on the examples, or on the targets of a task, of one rank, so that sums stay in range.
constexpr int64_t kMostCounted = int64_t{1} << 50;

}  // namespace

absl::StatusOr<MetricSet> MetricSet::create(const std::vector<std::string>& metrics,
                                            const std::vector<std::string>& tasks, LossScope scope,
                                            absl::Span<const CustomConfig> configs,
                                            absl::Span<const SliceOptions> slices) {
  MetricSet set;
  set.scope_ = scope;
  for (const std::string& task : tasks) {
    Task& entry = set.tasks_.emplace_back();
    if (tasks.size() > 1) {
      entry.name = task;
      entry.prefix = task + "/";
    }
    for (const std::string& name : metrics) {
      ASSIGN_OR_RETURN(std::unique_ptr<Metric> metric, create_metric(name, configs));
      entry.metrics.push_back(std::move(metric));
    }
  }
  for (SliceOptions options : slices) {
    if (options.metrics.empty()) options.metrics = metrics;
    ASSIGN_OR_RETURN(SliceMetrics slice, SliceMetrics::create(options, tasks.size(), configs));
    set.slices_.push_back(std::move(slice));
  }
  return set;
}

absl::Status MetricSet::check(const StepResult& step) const {
  // A padding step has no examples, and a step may report its loss alone.
  if (step.examples == 0 || (!step.predictions.defined() && !step.labels.defined())) {
    return absl::OkStatus();
  }
  const int64_t rows =
      step.predictions.defined() && step.predictions.dim() == 2 ? step.predictions.size(0) : 0;
  RETURN_IF_ERROR(check_shape(step.predictions, rows, tasks_.size(), "predictions"));
  RETURN_IF_ERROR(check_shape(step.labels, rows, tasks_.size(), "labels"));
  if (step.weights.defined() && step.weights.numel() != rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", step.weights.numel(), " weights for ", rows, " examples"));
  }
  if (step.groups.defined() && step.groups.numel() != rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", step.groups.numel(), " groups for ", rows, " examples"));
  }
  if (step.slices.size() != slices_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the step has ids for ", step.slices.size(),
                                                   " slices, but there are ", slices_.size()));
  }
  for (const FirstIds& first : step.slices) {
    if (first.ids.numel() == rows && first.present.numel() == rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", first.ids.numel(), " ids of a slice for ", rows, " examples"));
  }
  return absl::OkStatus();
}

absl::Status MetricSet::update(const StepResult& step) {
  return catch_part_exceptions("", [&] { return add_step(step); });
}

absl::Status MetricSet::add_step(const StepResult& step) {
  RETURN_IF_ERROR(check(step));
  if (step.examples == 0) return absl::OkStatus();
  RETURN_IF_ERROR(add_loss(step));
  if (!step.predictions.defined()) return absl::OkStatus();
  std::vector<FirstIds> slices;  // on the CPU
  for (size_t i = 0; i < slices_.size(); ++i) {
    const FirstIds& first = step.slices[i];
    slices.push_back({first.ids.to(at::kCPU), first.present.to(at::kCPU)});
    slices_[i].add_ids({as_span<int64_t>(slices[i].ids), as_span<bool>(slices[i].present)});
  }
  for (size_t i = 0; i < tasks_.size(); ++i) RETURN_IF_ERROR(update_task(i, step, slices));
  return absl::OkStatus();
}

absl::Status MetricSet::update_task(size_t task, const StepResult& step,
                                    absl::Span<const FirstIds> slices) {
  const int64_t column = static_cast<int64_t>(task);
  at::Tensor predictions = plain_column(step.predictions, column);
  at::Tensor labels = plain_column(step.labels, column);
  const at::Tensor places = places_with_label(labels);
  // Returns the elements of examples with a label.
  const auto with_label = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !places.defined()) return tensor;
    return tensor.flatten().index_select(0, places);
  };
  predictions = with_label(predictions);
  labels = with_label(labels);
  at::Tensor weights = step.weights, groups = step.groups;
  if (weights.defined()) weights = with_label(weights.to(at::kCPU, at::kFloat).contiguous());
  if (groups.defined()) groups = with_label(groups.to(at::kCPU, at::kLong).contiguous());
  const MetricInput input{as_span(predictions), as_span(labels), as_span(weights),
                          as_span<int64_t>(groups)};
  for (const std::unique_ptr<Metric>& metric : tasks_[task].metrics) {
    call_metric(*metric, [&] { metric->update(input); });
  }
  for (size_t i = 0; i < slices_.size(); ++i) {
    const at::Tensor ids = with_label(slices[i].ids);
    const at::Tensor present = with_label(slices[i].present);
    slices_[i].update(task, input, {as_span<int64_t>(ids), as_span<bool>(present)});
  }
  return absl::OkStatus();
}

absl::Status MetricSet::add_loss(const StepResult& step) {
  const bool given = step.loss_targets.defined();
  const double divisor = given ? to_double(step.loss_targets) : static_cast<double>(step.examples);
  if (!std::isfinite(divisor) || divisor < 0) {
    return wrong_result(
        absl::StrCat("the model's targets are ", divisor, " in a batch; they must be at least 0"));
  }
  examples_ += step.examples;
  if (step.task_targets.empty()) {
    loss_sum_ += to_double(step.loss) * divisor;
    divisor_ += divisor;
    return absl::OkStatus();
  }
  counted_ = true;
  const at::Tensor losses = step.task_losses.to(at::kCPU, at::kDouble).contiguous();
  const double* const loss = losses.const_data_ptr<double>();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].loss_sum += loss[i] * static_cast<double>(step.task_targets[i]);
    tasks_[i].targets += step.task_targets[i];
  }
  return absl::OkStatus();
}

void MetricSet::compute_loss(std::map<std::string, double>& values) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (!counted_) {
    values["loss"] = divisor_ > 0 ? loss_sum_ / divisor_ : kNone;
    return;
  }
  double total = kNone;
  for (const Task& task : tasks_) {
    const bool has_targets = task.targets > 0;
    const double loss = has_targets ? task.loss_sum / static_cast<double>(task.targets) : kNone;
    if (has_targets) total = (std::isnan(total) ? 0 : total) + loss;
    if (tasks_.size() > 1) values[task.prefix + "loss"] = loss;
  }
  values["loss"] = total;
}

std::map<std::string, ThresholdWeights> MetricSet::threshold_weights() const {
  std::map<std::string, ThresholdWeights> weights;
  for (const Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      std::optional<ThresholdWeights> known = metric->threshold_weights();
      if (!known.has_value()) continue;
      weights.emplace(task.name, *std::move(known));
      break;
    }
  }
  return weights;
}

std::map<std::string, double> MetricSet::compute() const {
  std::map<std::string, double> values;
  compute_loss(values);
  for (const Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      values[absl::StrCat(task.prefix, metric->name())] =
          call_metric(*metric, [&] { return metric->compute(); });
    }
  }
  std::vector<std::string> prefixes;
  for (const Task& task : tasks_) prefixes.push_back(task.prefix);
  for (const SliceMetrics& slice : slices_) slice.compute(prefixes, values);
  return values;
}

void MetricSet::reset() {
  loss_sum_ = 0;
  divisor_ = 0;
  examples_ = 0;
  counted_ = false;
  for (Task& task : tasks_) {
    task.loss_sum = 0;
    task.targets = 0;
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      call_metric(*metric, [&] { metric->reset(); });
    }
  }
  for (SliceMetrics& slice : slices_) slice.reset();
}

size_t MetricSet::metric_count() const {
  return tasks_.empty() ? 0 : tasks_.size() * tasks_[0].metrics.size();
}

std::vector<RangedMetric*> MetricSet::ranged_metrics() {
  std::vector<RangedMetric*> metrics;
  for (const Task& task : tasks_) add_ranged_metrics(task.metrics, metrics);
  for (SliceMetrics& slice : slices_) slice.add_ranged(metrics);
  return metrics;
}

std::string MetricSet::save() const { return save_metrics(std::numeric_limits<size_t>::max()); }

std::string MetricSet::save_share(int ranks) const {
  return save_metrics(std::max<size_t>(most_gathered_ / ranks, kFewestOmitted));
}

std::string MetricSet::save_metrics(size_t most_examples) const {
  ByteWriter writer;
  const bool divided = !counted_ && divisor_ != static_cast<double>(examples_);
  writer.write_uint8(counted_  ? kVersionWithTargets
                     : divided ? kVersionWithDivisor
                               : kMetricStateVersion);
  writer.write_double(loss_sum_);
  writer.write_int64(examples_);
  if (divided) writer.write_double(divisor_);
  for (const Task& task : tasks_) {
    if (!counted_) break;
    writer.write_double(task.loss_sum);
    writer.write_int64(task.targets);
  }
  writer.write_uint64(metric_count());
  for (const Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      writer.write_string(absl::StrCat(task.prefix, metric->name()));
      writer.write_string(save_metric(*metric, most_examples));
    }
  }
  for (const SliceMetrics& slice : slices_) slice.save(writer, most_examples);
  return writer.take();
}

absl::Status MetricSet::load_ranks(absl::Span<const absl::string_view> ranks) {
  reset();
  RETURN_IF_ERROR(add_ranks(ranks));
  for (const RangedMetric* metric : ranged_metrics()) {
    if (!metric->is_partial()) continue;
    reset();
    return absl::DataLossError("metrics lack examples");
  }
  return absl::OkStatus();
}

absl::Status MetricSet::merge_shares(absl::Span<const absl::string_view> shares,
                                     Collectives& collectives) {
  for (RangedMetric* metric : ranged_metrics()) metric->begin_merge();
  reset();
  absl::Status status = add_ranks(shares);
  // Shares may have added slices, and merged others into "other", here as on all ranks.
  const std::vector<RangedMetric*> ranged = ranged_metrics();
  if (status.ok()) status = merge_ranges(ranged, collectives);
  for (RangedMetric* metric : ranged) metric->end_merge();
  if (!status.ok()) reset();
  return status;
}

absl::Status MetricSet::add_ranks(absl::Span<const absl::string_view> ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const absl::Status status = load_rank(rank, ranks[rank]);
    if (!status.ok()) {
      reset();
      return annotate(status, absl::StrCat("metrics of rank ", rank));
    }
  }
  return absl::OkStatus();
}

absl::Status MetricSet::load_rank(size_t rank, absl::string_view bytes) {
  ByteReader reader(bytes);
  const int version = reader.read_uint8();
  const double loss_sum = reader.read_double();
  const int64_t examples = reader.read_int64();
  // Earlier versions lack the divisor: it was the number of examples, or of each task's targets.
  const bool counted = version == kVersionWithTargets;
  const bool divided = version == kVersionWithDivisor;
  const double divisor = divided ? reader.read_double() : counted ? 0 : examples;
  std::vector<std::pair<double, int64_t>> task_losses(counted ? tasks_.size() : 0);
  // A damaged state must not make a sum overflow or become not-a-number.
  bool in_range =
      examples >= 0 && examples <= kMostCounted && divisor >= 0 && std::isfinite(divisor);
  for (auto& [sum, targets] : task_losses) {
    sum = reader.read_double();
    targets = reader.read_int64();
    in_range &= targets >= 0 && targets <= kMostCounted;
  }
  const uint64_t metrics = reader.read_uint64();
  const bool known = version == kMetricStateVersion || counted || divided;
  if (!reader.ok() || !known || !in_range) {
    return absl::DataLossError("malformed");
  }
  if (metrics != metric_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("they are ", metrics, ", but here there are ", metric_count()));
  }
  RETURN_IF_ERROR(load_metrics(reader));
  for (SliceMetrics& slice : slices_) RETURN_IF_ERROR(slice.merge_saved(reader));
  if (!reader.done()) return absl::DataLossError("bytes are left over");
  // The loss covers the whole step on every rank, so the sum would count it once per rank.
  if (scope_ == LossScope::kWholeStep && rank > 0) return absl::OkStatus();
  loss_sum_ += loss_sum;
  divisor_ += divisor;
  examples_ += examples;
  counted_ |= counted;
  for (size_t i = 0; i < task_losses.size(); ++i) {
    tasks_[i].loss_sum += task_losses[i].first;
    tasks_[i].targets += task_losses[i].second;
  }
  return absl::OkStatus();
}

absl::Status MetricSet::load_metrics(ByteReader& reader) {
  for (const Task& task : tasks_) {
    for (const std::unique_ptr<Metric>& metric : task.metrics) {
      const std::string name = absl::StrCat(task.prefix, metric->name());
      const absl::string_view saved_name = reader.read_string();
      const absl::string_view saved = reader.read_string();
      if (!reader.ok()) return absl::DataLossError("cut short");
      if (saved_name != name) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", absl::CEscape(saved_name), "\" is where here \"", name, "\" is"));
      }
      RETURN_IF_ERROR(merge_saved_metric(*metric, saved));
    }
  }
  return absl::OkStatus();
}

void MetricSet::merge(const MetricSet& other) {
  loss_sum_ += other.loss_sum_;
  divisor_ += other.divisor_;
  examples_ += other.examples_;
  counted_ |= other.counted_;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].loss_sum += other.tasks_[i].loss_sum;
    tasks_[i].targets += other.tasks_[i].targets;
    for (const std::unique_ptr<Metric>& metric : tasks_[i].metrics) {
      for (const std::unique_ptr<Metric>& from : other.tasks_[i].metrics) {
        if (from->name() != metric->name()) continue;
        call_metric(*metric, [&] { metric->merge(*from); });
      }
    }
  }
}

}  // namespace millrace
