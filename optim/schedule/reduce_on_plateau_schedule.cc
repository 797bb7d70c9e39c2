// Reduction of the rate when a metric has stopped improving.

#include <algorithm>
#include <cmath>
#include <string>

#include "base/log.h"
#include "base/status_macros.h"
#include "optim/schedule/schedule_fields.h"
#include "optim/schedule/schedule_kinds.h"
#include "proto/field_check.h"
#include "proto/monitor_name.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_reduce_on_plateau(absl::string_view where, const ScheduleConfig& config,
                                     const ScheduleInput& input) {
  FieldErrors errors;
  const ReduceOnPlateauScheduleConfig& plateau = config.reduce_on_plateau();
  errors.add(check_monitor_name(where, plateau.monitor()));
  if (config.unit() != ScheduleConfig::STEPS) {
    errors.add(wrong(where, "unit does nothing; the rate follows from values of the metric"));
  }
  if (plateau.threshold_mode() == ReduceOnPlateauScheduleConfig::REL && plateau.threshold() >= 1 &&
      std::isfinite(plateau.threshold())) {
    errors.add(wrong_number(where, "threshold", plateau.threshold(), "at least 0 and below 1"));
  }
  return errors.status();
}

// For each observed value:
//   1. If the value is better than the best value by the threshold, it becomes the best value, and
//      the number of bad values is 0. Otherwise the number of bad values grows by 1.
//   2. During a cooldown, the number of bad values is 0, and the cooldown is shorter by 1.
//   3. If there are more bad values than `patience`, rate ← max(rate × factor, min_rate), unless
//      this reduces the rate by no more than `epsilon`. The cooldown begins, and the number of bad
//      values is 0.
// The first finite value is the first best value. A value that is not finite is never better. If
// the threshold is relative and the best value is below 0, worse values count as better; a warning
// is logged once.
// Source: `ReduceLROnPlateau` of torch.optim.lr_scheduler.
class ReduceOnPlateauSchedule : public Schedule {
 public:
  ReduceOnPlateauSchedule(const ReduceOnPlateauScheduleConfig& config, const ScheduleInput& input)
      : Schedule(input.unit), config_(config), learning_rate_(input.learning_rate) {
    state_.set_factor(1);
  }

  double rate_at(double) const override { return learning_rate_ * state_.factor(); }

  absl::string_view monitor() const override { return config_.monitor(); }
  void observe(double value) override;
  ScheduleState state() const override;
  absl::Status load_state(const ScheduleState& state) override;

 private:
  // Returns true if `value` is better than the best value by the threshold.
  bool improves(double value) const;
  void reduce();

  const ReduceOnPlateauScheduleConfig config_;
  const double learning_rate_;
  ReduceOnPlateauState state_;  // `factor` is always set
  bool warned_ = false;         // that a relative threshold has a best value below 0
};

bool ReduceOnPlateauSchedule::improves(double value) const {
  if (!std::isfinite(value)) return false;
  if (!state_.has_best()) return true;
  const double best = state_.best();
  const bool relative = config_.threshold_mode() == ReduceOnPlateauScheduleConfig::REL;
  if (config_.mode() == ReduceOnPlateauScheduleConfig::MIN) {
    return value < (relative ? best * (1 - config_.threshold()) : best - config_.threshold());
  }
  return value > (relative ? best * (1 + config_.threshold()) : best + config_.threshold());
}

void ReduceOnPlateauSchedule::reduce() {
  const double rate = rate_at(0);
  const double reduced = std::max(rate * config_.factor(), config_.min_rate());
  if (rate - reduced > config_.epsilon()) state_.set_factor(reduced / learning_rate_);
}

void ReduceOnPlateauSchedule::observe(double value) {
  const bool relative = config_.threshold_mode() == ReduceOnPlateauScheduleConfig::REL;
  if (value < 0 && relative && config_.threshold() > 0 && !warned_) {
    warned_ = true;
    MILLRACE_LOG(WARNING) << "schedule reduce_on_plateau: " << config_.monitor() << " is " << value
                          << ", and by a relative threshold a worse value can be better than a "
                             "best one below 0, as in PyTorch; set threshold_mode: ABS";
  }
  if (improves(value)) {
    state_.set_best(value);
    state_.set_bad_values(0);
  } else {
    state_.set_bad_values(state_.bad_values() + 1);
  }
  if (state_.cooldown_left() > 0) {
    state_.set_cooldown_left(state_.cooldown_left() - 1);
    state_.set_bad_values(0);
  }
  if (state_.bad_values() <= config_.patience()) return;
  reduce();
  state_.set_cooldown_left(config_.cooldown());
  state_.set_bad_values(0);
}

ScheduleState ReduceOnPlateauSchedule::state() const {
  ScheduleState state;
  *state.mutable_reduce_on_plateau() = state_;
  return state;
}

absl::Status ReduceOnPlateauSchedule::load_state(const ScheduleState& state) {
  if (!state.has_reduce_on_plateau()) return absl::OkStatus();
  const ReduceOnPlateauState& loaded = state.reduce_on_plateau();
  RETURN_IF_ERROR(check_own_ranges("state of schedule reduce_on_plateau", loaded));
  state_ = loaded;
  state_.set_factor(loaded.factor());  // set even if the value is the default
  return absl::OkStatus();
}

std::unique_ptr<Schedule> create_reduce_on_plateau(const ScheduleConfig& config,
                                                   const ScheduleInput& input) {
  return std::make_unique<ReduceOnPlateauSchedule>(config.reduce_on_plateau(), input);
}

}  // namespace

ScheduleKinds plateaus() {
  return {{ScheduleConfig::kReduceOnPlateau, &create_reduce_on_plateau, &check_reduce_on_plateau}};
}

}  // namespace millrace
