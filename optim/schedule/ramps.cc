// Schedules that rise to the learning rate or keep it.

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_fields.h"
#include "optim/schedule/schedule_kinds.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// rate(t) = factor × learning_rate
// A part of a chain with a factor equals `ConstantLR` of torch.optim.lr_scheduler.
std::unique_ptr<Schedule> create_constant(const ScheduleConfig& config,
                                          const ScheduleInput& input) {
  const double rate = config.constant().factor() * input.learning_rate;
  return std::make_unique<PositionSchedule>(
      input, [=](double) { return rate; }, 0);
}

absl::Status check_linear_warmup(absl::string_view where, const ScheduleConfig& config,
                                 const ScheduleInput& input) {
  FieldErrors errors;
  check_within_training(
      where, "length",
      check_length(where, "length", config.linear_warmup().length(), 0, input, &errors), input,
      &errors);
  return errors.status();
}

// Computes the rate at position t from the length W:
//   rate(t) = learning_rate × (start_factor + (1 − start_factor) × t / W)   for t < W
//   rate(t) = learning_rate                                                 for t >= W
// Source: `LinearLR` of torch.optim.lr_scheduler with end_factor 1.
std::unique_ptr<Schedule> create_linear_warmup(const ScheduleConfig& config,
                                               const ScheduleInput& input) {
  const Warmup warmup(config.linear_warmup().start_factor(),
                      *length_of(config.linear_warmup().length(), input));
  const auto rate_at = [warmup, rate = input.learning_rate](double position) {
    return rate * warmup.factor(position);
  };
  return std::make_unique<PositionSchedule>(input, rate_at, warmup.length());
}

absl::Status check_tri_stage(absl::string_view where, const ScheduleConfig& config,
                             const ScheduleInput& input) {
  FieldErrors errors;
  const TriStageScheduleConfig& stages = config.tri_stage();
  check_length(where, "length", stages.length(), 1, input, &errors);
  const double sum = stages.warmup_ratio() + stages.hold_ratio();
  if (sum >= 1) {
    errors.add(wrong(where, absl::StrCat("warmup_ratio + hold_ratio is ", sum,
                                         "; must be below 1, so that the decay has a length")));
  }
  return errors.status();
}

// Computes the rate at position t from the length L, the end of the warm-up W = warmup_ratio × L,
// and the start of the decay D = W + hold_ratio × L:
//   rate(t) = learning_rate × Warmup(t)                                     for t < W
//   rate(t) = learning_rate                                                 for t < D
//   rate(t) = learning_rate × final_factor^((t − D) / (L − D))              for t < L
//   rate(t) = learning_rate × final_factor                                  for t >= L
// Source: `TriStageLR` of fairseq2, which rounds each stage down to whole steps; this function does
// not.
std::unique_ptr<Schedule> create_tri_stage(const ScheduleConfig& config,
                                           const ScheduleInput& input) {
  const TriStageScheduleConfig& stages = config.tri_stage();
  const double length = *length_of(stages.length(), input);
  const double final_factor = stages.final_factor();
  const Warmup warmup(stages.start_factor(), snap_to_whole(stages.warmup_ratio() * length));
  const double decay_start = snap_to_whole((stages.warmup_ratio() + stages.hold_ratio()) * length);
  const auto rate_at = [=, rate = input.learning_rate](double position) {
    if (position < warmup.length()) return rate * warmup.factor(position);
    if (position < decay_start) return rate;
    if (position >= length) return rate * final_factor;
    const double share = (position - decay_start) / (length - decay_start);
    return rate * std::pow(final_factor, share);
  };
  return std::make_unique<PositionSchedule>(input, rate_at, length);
}

}  // namespace

ScheduleKinds ramps() {
  return {{ScheduleConfig::kConstant, &create_constant},
          {ScheduleConfig::kLinearWarmup, &create_linear_warmup, &check_linear_warmup},
          {ScheduleConfig::kTriStage, &create_tri_stage, &check_tri_stage}};
}

}  // namespace millrace
