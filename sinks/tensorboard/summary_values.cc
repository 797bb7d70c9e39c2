#include "sinks/tensorboard/summary_values.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "sinks/valid_utf8.h"

namespace millrace {
namespace {

using tensorboard::Summary;

Summary::Value value_for(absl::string_view plugin, absl::string_view tag) {
  Summary::Value value;
  value.set_tag(valid_utf8(tag));
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name(std::string(plugin));
  return value;
}

void add_dimension(size_t size, tensorboard::Tensor& tensor) {
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<int64_t>(size));
}

void add_row(const std::vector<double>& row, tensorboard::Tensor& tensor) {
  for (const double element : row) tensor.add_float_val(static_cast<float>(element));
}

// Returns right / (right + wrong), element by element.
std::vector<double> shares(const std::vector<double>& right, const std::vector<double>& wrong) {
  std::vector<double> shares;
  for (size_t i = 0; i < right.size(); ++i) {
    const double all = right[i] + wrong[i];
    shares.push_back(all > 0 ? right[i] / all : 1);
  }
  return shares;
}

}  // namespace

Summary::Value text_value(absl::string_view tag, absl::string_view markdown) {
  Summary::Value value = value_for("text", tag);
  tensorboard::Tensor& tensor = *value.mutable_tensor();
  tensor.set_dtype(tensorboard::Tensor::STRING);
  tensor.mutable_tensor_shape();  // a scalar
  tensor.add_string_val(valid_utf8(markdown));
  return value;
}

Summary::Value histogram_value(absl::string_view tag, const Distribution& distribution) {
  Summary::Value value;
  value.set_tag(valid_utf8(tag));
  tensorboard::Histogram& histogram = *value.mutable_histo();
  histogram.set_min(distribution.min);
  histogram.set_max(distribution.max);
  histogram.set_num(static_cast<double>(distribution.count));
  histogram.set_sum(distribution.sum);
  histogram.set_sum_squares(distribution.sum_of_squares);
  for (const double limit : distribution.limits) histogram.add_bucket_limit(limit);
  for (const int64_t count : distribution.counts) histogram.add_bucket(static_cast<double>(count));
  return value;
}

Summary::Value curve_value(absl::string_view tag, const ThresholdWeights& weights) {
  Summary::Value value = value_for("pr_curves", tag);
  tensorboard::PrCurvePluginData data;
  data.set_num_thresholds(static_cast<uint32_t>(weights.thresholds.size()));
  value.mutable_metadata()->mutable_plugin_data()->set_content(data.SerializeAsString());
  tensorboard::Tensor& tensor = *value.mutable_tensor();
  tensor.set_dtype(tensorboard::Tensor::FLOAT);
  constexpr size_t kRows = 6;
  add_dimension(kRows, tensor);
  add_dimension(weights.thresholds.size(), tensor);
  add_row(weights.true_positives, tensor);
  add_row(weights.false_positives, tensor);
  add_row(weights.true_negatives, tensor);
  add_row(weights.false_negatives, tensor);
  add_row(shares(weights.true_positives, weights.false_positives), tensor);  // precision
  add_row(shares(weights.true_positives, weights.false_negatives), tensor);  // recall
  return value;
}

Summary::Value hyper_parameters_value(const std::vector<ConfigValue>& values, double start_time) {
  Summary::Value value = value_for("hparams", "_hparams_/session_start_info");
  tensorboard::HParamsPluginData data;
  tensorboard::SessionStartInfo& start = *data.mutable_session_start_info();
  start.set_start_time_secs(start_time);
  for (const ConfigValue& given : values) {
    tensorboard::HParamValue& parameter = (*start.mutable_hparams())[valid_utf8(given.path)];
    if (const auto* integer = std::get_if<int64_t>(&given.value)) {
      parameter.set_number_value(static_cast<double>(*integer));
    } else if (const double* number = std::get_if<double>(&given.value)) {
      parameter.set_number_value(*number);
    } else if (const bool* flag = std::get_if<bool>(&given.value)) {
      parameter.set_bool_value(*flag);
    } else {
      parameter.set_string_value(valid_utf8(std::get<std::string>(given.value)));
    }
  }
  value.mutable_metadata()->mutable_plugin_data()->set_content(data.SerializeAsString());
  tensorboard::Tensor& tensor = *value.mutable_tensor();
  tensor.set_dtype(tensorboard::Tensor::FLOAT);
  add_dimension(0, tensor);
  return value;
}

}  // namespace millrace
