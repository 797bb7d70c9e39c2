#include "hooks/early_stopping_hook.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/monitor_name.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr int32_t kEarlyStoppingVersion = 1;

bool is_plausible(const EarlyStoppingState& state) {
  const bool best = !state.has_best() || (std::isfinite(state.best()) && state.best_step() >= 0);
  return state.has_monitor() && state.has_higher_is_better() && best && state.values() >= 0 &&
         state.last_step() >= 0 && state.without_improvement() >= 0 &&
         state.without_improvement() <= state.values();
}

}  // namespace

EarlyStoppingHook::EarlyStoppingHook(const EarlyStoppingConfig& config)
    : config_(config),
      higher_is_better_(millrace::higher_is_better(config).value_or(true)),
      monitored_(config.monitor()),
      state_(without_observations()) {
  const absl::Status status = check_early_stopping(kName, config);
  MILLRACE_CHECK(status.ok()) << status;
}

absl::StatusOr<std::unique_ptr<Hook>> EarlyStoppingHook::create(const HookConfig& config,
                                                                const HookResources&) {
  const EarlyStoppingConfig& own = config.GetExtension(early_stopping);
  RETURN_IF_ERROR(check_early_stopping("[millrace.early_stopping]", own));
  return std::make_unique<EarlyStoppingHook>(own);
}

EarlyStoppingState EarlyStoppingHook::without_observations() const {
  EarlyStoppingState state;
  state.set_monitor(config_.monitor());
  state.set_higher_is_better(higher_is_better_);
  return state;
}

absl::Status EarlyStoppingHook::start(HookContext& context) {
  monitored_.begin_run(context.progress().step);
  return absl::OkStatus();
}

absl::Status EarlyStoppingHook::after_report(HookContext& context, const Report& report) {
  return observe(context, monitored_.find(report), report.progress.step);
}

absl::Status EarlyStoppingHook::after_evaluate(HookContext& context,
                                               const EvaluationResult& result) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  return observe(context, monitored_.find(result), result.progress.step);
}

absl::Status EarlyStoppingHook::observe(HookContext& context,
                                        const absl::StatusOr<std::optional<double>>& value,
                                        int64_t step) {
  RETURN_IF_ERROR(value.status());
  if (!value->has_value()) return absl::OkStatus();
  const std::string reason = record_value(**value, step);
  if (!reason.empty()) context.requests().stop(absl::StrCat("early stopping: ", reason));
  return absl::OkStatus();
}

bool EarlyStoppingHook::improves(double value) const {
  if (!std::isfinite(value)) return false;
  if (!state_.has_best()) return true;
  const double change = value - state_.best();
  return (higher_is_better_ ? change : -change) > config_.min_change();
}

std::string EarlyStoppingHook::record_value(double value, int64_t step) {
  if (!monitored_.observe(step)) return "";
  state_.set_values(state_.values() + 1);
  if (state_.values() <= config_.warmup()) return "";
  if (improves(value)) {
    state_.set_best(value);
    state_.set_best_step(step);
    state_.set_without_improvement(0);
    return "";
  }
  state_.set_without_improvement(state_.without_improvement() + 1);
  if (std::isnan(value) && config_.stop_on_not_a_number()) {
    return absl::StrCat(config_.monitor(), " is not a number (step ", step, ")");
  }
  return state_.without_improvement() < config_.patience() ? "" : reason_without_improvement();
}

std::string EarlyStoppingHook::reason_without_improvement() const {
  const int64_t count = state_.without_improvement();
  const std::string during =
      absl::StrCat(" in ", count, monitored_.is_of_training() ? " report" : " evaluation",
                   count == 1 ? "" : "s");
  if (!state_.has_best())
    return absl::StrCat(config_.monitor(), " has had no finite value", during);
  const std::string change =
      config_.min_change() > 0 ? absl::StrCat(" by more than ", config_.min_change()) : "";
  return absl::StrCat(config_.monitor(), " has not improved on ", state_.best(), " (step ",
                      state_.best_step(), ")", change, during);
}

absl::Status EarlyStoppingHook::save_state(HookState& state) const {
  EarlyStoppingState saved = state_;
  const std::optional<int64_t> last_step = monitored_.last_step();
  if (last_step.has_value()) saved.set_last_step(*last_step);
  state.version = kEarlyStoppingVersion;
  state.bytes = saved.SerializeAsString();
  return absl::OkStatus();
}

absl::Status EarlyStoppingHook::load_state(absl::Span<const HookState> per_rank) {
  EarlyStoppingState loaded = without_observations();
  for (const HookState& one : per_rank) {
    const bool readable = one.version == kEarlyStoppingVersion && one.bytes == per_rank[0].bytes &&
                          loaded.ParseFromString(one.bytes) && is_plausible(loaded);
    if (readable) continue;
    return absl::InvalidArgumentError(
        "the state of hook early_stopping is damaged, of another version or differs between ranks");
  }
  if (loaded.monitor() != config_.monitor() || loaded.higher_is_better() != higher_is_better_) {
    MILLRACE_LOG(INFO) << "early stopping: the checkpoint has observations of " << loaded.monitor()
                       << (loaded.higher_is_better() ? " (MAX)" : " (MIN)")
                       << ", which are dropped; observing " << config_.monitor()
                       << (higher_is_better_ ? " (MAX)" : " (MIN)");
    loaded = without_observations();
  }
  monitored_.set_last_step(loaded.has_last_step() ? std::optional(loaded.last_step())
                                                  : std::nullopt);
  loaded.clear_last_step();
  state_ = std::move(loaded);
  return absl::OkStatus();
}

MILLRACE_REGISTER_HOOK(early_stopping, "ends training when a metric no longer improves",
                       &EarlyStoppingHook::create);

namespace {

// Returns "auc" for "eval/click/auc".
std::string metric_name(const std::string& monitor) {
  return monitor.substr(monitor.rfind('/') + 1);
}

}  // namespace

std::optional<bool> higher_is_better(const EarlyStoppingConfig& config) {
  if (config.mode() != EarlyStoppingConfig::BY_METRIC) {
    return config.mode() == EarlyStoppingConfig::MAX;
  }
  switch (direction_of_monitor(config.monitor())) {
    case MetricDirection::kHigherIsBetter: return true;
    case MetricDirection::kLowerIsBetter: return false;
    case MetricDirection::kNone: break;
  }
  return std::nullopt;
}

absl::Status check_stopping_monitor(absl::string_view where, const EarlyStoppingConfig& config) {
  FieldErrors errors;
  const absl::Status monitor = check_monitor_name(where, config.monitor());
  errors.add(monitor);
  if (monitor.ok() && !higher_is_better(config).has_value()) {
    errors.add(wrong(where, absl::StrCat("mode is missing; ", metric_name(config.monitor()),
                                         " has no direction, so set it to MAX or MIN")));
  }
  const std::optional<bool> higher = higher_is_better(config);
  if (higher.has_value() && contradicts(config.monitor(), *higher)) {
    errors.add(wrong(where, absl::StrCat("mode is ", *higher ? "MAX, but lower" : "MIN, but higher",
                                         " values of ", config.monitor(), " are better")));
  }
  return errors.status();
}

absl::Status check_early_stopping(absl::string_view where, const EarlyStoppingConfig& config) {
  return all_errors({check_stopping_monitor(where, config), check_ranges(where, config)});
}

}  // namespace millrace
