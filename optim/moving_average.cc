#include "optim/moving_average.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns true if the loops over plain float32 memory may be used for both.
bool are_plain(const at::Tensor& a, const at::Tensor& b) {
  const auto plain = [](const at::Tensor& tensor) {
    return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
  };
  return plain(a) && plain(b);
}

// Computes average += weight × (value - average). Works in blocks of one length, which compilers
// turn into vectors. Each number is computed independently, so the length of the block does not
// affect results.
void move_towards(const float* __restrict value, int64_t count, float weight,
                  float* __restrict average) {
  constexpr int kBlock = 16;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    for (int l = 0; l < kBlock; ++l) {
      average[i + l] += weight * (value[i + l] - average[i + l]);
    }
  }
  for (; i < count; ++i) average[i] += weight * (value[i] - average[i]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MovingAverage>> MovingAverage::create(
    const MovingAverageConfig& config, const std::vector<NamedParameter>& parameters) {
  RETURN_IF_ERROR(check_ranges("moving_average", config));
  std::vector<NamedParameter> trained;
  for (const NamedParameter& parameter : parameters) {
    if (parameter.value.requires_grad()) trained.push_back(parameter);
  }
  if (trained.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("moving_average: the model has no dense parameter that is trained (",
                     parameters.size(), " are frozen); remove moving_average"));
  }
  return std::unique_ptr<MovingAverage>(new MovingAverage(config, std::move(trained)));
}

MovingAverage::MovingAverage(const MovingAverageConfig& config,
                             std::vector<NamedParameter> parameters)
    : config_(config),
      parameters_(std::move(parameters)),
      layout_{.fields = {{"average_updates", /*is_count=*/true}, {"average"}}} {
  for (const NamedParameter& parameter : parameters_) {
    averages_.push_back({parameter.value, at::empty_like(parameter.value)});
  }
}

double MovingAverage::weight(int64_t updates) const {
  if (!config_.warmup()) return 1 - config_.decay();
  const auto n = static_cast<double>(updates);
  return 1 - std::min(config_.decay(), (1 + n) / (10 + n));
}

void MovingAverage::before_update() {
  if (all_begun_) return;
  const c10::AutoGradMode no_gradients(false);
  for (Average& average : averages_) {
    if (average.updates == 0) average.value.copy_(average.parameter);
  }
}

void MovingAverage::after_update() {
  const c10::AutoGradMode no_gradients(false);
  for (Average& average : averages_) {
    const double weight = this->weight(average.updates);
    ++average.updates;
    if (are_plain(average.parameter, average.value)) {
      move_towards(average.parameter.const_data_ptr<float>(), average.value.numel(),
                   static_cast<float>(weight), average.value.mutable_data_ptr<float>());
    } else {
      average.value.lerp_(average.parameter, weight);
    }
  }
  all_begun_ = true;
}

void MovingAverage::exchange() {
  const c10::AutoGradMode no_gradients(false);
  // Allocates all memory before the first tensor changes, so that a failed allocation changes
  // nothing.
  std::vector<at::Tensor> copies(averages_.size());
  for (size_t i = 0; i < averages_.size(); ++i) {
    const Average& average = averages_[i];
    if (average.updates == 0 || are_plain(average.parameter, average.value)) continue;
    copies[i] = average.parameter.clone();
  }
  for (size_t i = 0; i < averages_.size(); ++i) {
    Average& average = averages_[i];
    if (average.updates == 0) continue;
    if (are_plain(average.parameter, average.value)) {
      float* const value = average.value.mutable_data_ptr<float>();
      std::swap_ranges(value, value + average.value.numel(),
                       average.parameter.mutable_data_ptr<float>());
    } else {
      average.parameter.copy_(average.value);
      average.value.copy_(copies[i]);
    }
  }
}

std::vector<NamedParameter> MovingAverage::state() const {
  std::vector<NamedParameter> all;
  for (size_t i = 0; i < averages_.size(); ++i) {
    const Average& average = averages_[i];
    const auto add = [&](size_t field, at::Tensor value) {
      all.push_back(
          {absl::StrCat(parameters_[i].name, "/", layout_.fields[field].name), std::move(value)});
    };
    add(0, at::scalar_tensor(average.updates, at::kLong));
    add(1, average.updates == 0 ? average.parameter.detach() : average.value);
  }
  return all;
}

std::vector<std::string> MovingAverage::state_differences(
    const std::vector<NamedParameter>& state) const {
  return millrace::state_differences(layout_, parameters_, state);
}

absl::Status MovingAverage::load_state(const std::vector<NamedParameter>& state) {
  const std::vector<std::string> differences = state_differences(state);
  if (!differences.empty()) return absl::InvalidArgumentError(absl::StrJoin(differences, "; "));
  const auto dealt = deal_out_state(layout_, parameters_, state);
  const c10::AutoGradMode no_gradients(false);
  all_begun_ = true;
  for (size_t i = 0; i < dealt.size(); ++i) {
    Average& average = averages_[i];
    average.updates = dealt[i].empty() ? 0 : dealt[i][0].item<int64_t>();
    if (average.updates > 0) average.value.copy_(dealt[i][1]);
    all_begun_ = all_begun_ && average.updates > 0;
  }
  return absl::OkStatus();
}

absl::Status check_moving_average_of(const TrainConfig& train) {
  if (!train.has_moving_average()) return absl::OkStatus();
  RETURN_IF_ERROR(check_ranges("train.moving_average", train.moving_average()));
  const auto& more = train.more_optimizers();
  const bool all_frozen =
      train.optimizer().frozen() &&
      std::all_of(more.begin(), more.end(),
                  [](const DenseOptimizerConfig& optimizer) { return optimizer.frozen(); });
  if (!all_frozen) return absl::OkStatus();
  return wrong("train.moving_average",
               "all dense parameters are frozen (optimizer, more_optimizers), so that there is "
               "nothing to average; remove it or frozen");
}

}  // namespace millrace
