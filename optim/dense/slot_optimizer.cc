#include "optim/dense/slot_optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

SlotOptimizer::SlotOptimizer(const std::vector<std::string>& slots,
                             std::vector<NamedParameter> parameters,
                             std::unique_ptr<Schedule> schedule)
    : parameters_(std::move(parameters)),
      states_(parameters_.size()),
      schedule_(std::move(schedule)) {
  layout_.fields.push_back({"step", /*is_count=*/true});
  for (const std::string& slot : slots) layout_.fields.push_back({slot});
  for (const NamedParameter& parameter : parameters_) names_.push_back(parameter.name);
}

absl::Status SlotOptimizer::step(const Progress& progress) {
  const c10::AutoGradMode no_gradients(false);
  const double rate = schedule_->rate(progress);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& weight = parameters_[i].value;
    const at::Tensor& gradient = weight.grad();
    if (!gradient.defined()) continue;
    State& state = states_[i];
    const std::string what = absl::StrCat("dense optimizer, parameter \"", names_[i], "\"");
    RETURN_IF_ERROR(catch_part_exceptions(what, [&] {
      while (state.slots.size() + 1 < layout_.fields.size()) {
        state.slots.push_back(at::zeros_like(weight));
      }
      update({gradient, absl::MakeSpan(state.slots), ++state.step, rate}, weight);
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

void SlotOptimizer::zero_grad() {
  for (NamedParameter& parameter : parameters_) parameter.value.mutable_grad().reset();
}

double SlotOptimizer::learning_rate(const Progress& progress) const {
  return schedule_->rate(progress);
}

std::vector<NamedParameter> SlotOptimizer::state() const {
  std::vector<NamedParameter> all;
  for (size_t i = 0; i < names_.size(); ++i) {
    const State& state = states_[i];
    if (state.step == 0) continue;
    const auto add = [&](size_t field, at::Tensor value) {
      all.push_back({absl::StrCat(names_[i], "/", layout_.fields[field].name), std::move(value)});
    };
    add(0, at::scalar_tensor(state.step, at::kLong));
    for (size_t slot = 0; slot < state.slots.size(); ++slot) add(slot + 1, state.slots[slot]);
  }
  return all;
}

std::vector<std::string> SlotOptimizer::state_differences(
    const std::vector<NamedParameter>& state) const {
  return millrace::state_differences(layout_, parameters_, state);
}

absl::Status SlotOptimizer::load_state(const std::vector<NamedParameter>& state) {
  const std::vector<std::string> differences = state_differences(state);
  if (!differences.empty()) return absl::InvalidArgumentError(absl::StrJoin(differences, "; "));
  const auto dealt = deal_out_state(layout_, parameters_, state);
  for (size_t i = 0; i < dealt.size(); ++i) {
    states_[i] = State();
    if (dealt[i].empty()) continue;
    states_[i].step = dealt[i][0].item<int64_t>();
    for (size_t field = 1; field < dealt[i].size(); ++field) {
      states_[i].slots.push_back(dealt[i][field].detach().clone());
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
