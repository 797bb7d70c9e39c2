#include "hooks/watch_tensors_hook.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "hooks/inspect/tensor_statistic.h"
#include "optim/name_pattern.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr char kWatchTensorsWhere[] = "[millrace.watch_tensors]";
constexpr Cadence kWatchTensorsCadence = {.every_steps = 100};

absl::Status check_when(const CadenceConfig& when) {
  const std::string where = absl::StrCat(kWatchTensorsWhere, ".when");
  FieldErrors errors;
  errors.add(check_ranges(where, when));
  if (when.at_start() || when.at_end()) {
    errors.add(wrong(where, absl::StrCat(when.at_start() ? "at_start" : "at_end",
                                         " is set, but there are gradients in steps alone; use "
                                         "every_steps")));
  } else if (errors.empty() && !Cadence::from_config(when).enabled()) {
    errors.add(wrong(where, "it never comes; set a trigger, such as every_steps"));
  }
  return errors.status();
}

}  // namespace

WatchTensorsHook::WatchTensorsHook(const WatchTensorsConfig& config)
    : config_(config),
      when_(Cadence::from_config_or(config.has_when(), config.when(), kWatchTensorsCadence)) {
  const absl::Status status = check(config);
  MILLRACE_CHECK(status.ok()) << status;
}

absl::Status WatchTensorsHook::check(const WatchTensorsConfig& config) {
  FieldErrors errors;
  if (config.pattern().empty()) {
    errors.add(wrong(kWatchTensorsWhere, "pattern is missing; \"*\" fits every tensor"));
  }
  for (const std::string& pattern : config.pattern()) {
    if (pattern.empty())
      errors.add(wrong(kWatchTensorsWhere, "a pattern is empty; \"*\" fits every tensor"));
  }
  std::set<int> seen;
  for (const int statistic : config.statistic()) {
    if (seen.insert(statistic).second) continue;
    const auto named = static_cast<WatchTensorsConfig::Statistic>(statistic);
    errors.add(wrong(kWatchTensorsWhere,
                     absl::StrCat("statistic ", WatchTensorsConfig::Statistic_Name(named),
                                  " is named twice; remove one")));
  }
  if (config.has_when()) errors.add(check_when(config.when()));
  return errors.status();
}

absl::StatusOr<std::unique_ptr<Hook>> WatchTensorsHook::create(const HookConfig& config,
                                                               const HookResources&) {
  const WatchTensorsConfig& own = config.GetExtension(watch_tensors);
  RETURN_IF_ERROR(check(own));
  return std::make_unique<WatchTensorsHook>(own);
}

absl::Status WatchTensorsHook::start(HookContext& context) {
  found_ = false;
  last_ = context.progress();
  return absl::OkStatus();
}

absl::Status WatchTensorsHook::find(absl::Span<const NamedParameter> parameters) {
  watched_.clear();
  std::vector<std::string> names;
  const auto add = [&](size_t parameter, bool is_gradient, std::string name) {
    if (matches_any(name, config_.pattern())) watched_.push_back({parameter, is_gradient, name});
    names.push_back(std::move(name));
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    if (config_.kind() != WatchTensorsConfig::GRADIENTS) add(i, false, name);
    if (config_.kind() != WatchTensorsConfig::PARAMETERS) add(i, true, name + ".grad");
  }
  for (const std::string& pattern : config_.pattern()) {
    if (fits_any(pattern, names)) continue;
    const std::string known =
        names.empty() ? "; the model has no dense parameters" : did_you_mean(pattern, names);
    return wrong(kWatchTensorsWhere,
                 absl::StrCat("pattern \"", pattern, "\" fits no tensor of kind ",
                              WatchTensorsConfig::Kind_Name(config_.kind()), known));
  }
  return absl::OkStatus();
}

absl::Status WatchTensorsHook::after_backward(HookContext& context, const Gradients& gradients) {
  if (!std::exchange(found_, true)) RETURN_IF_ERROR(find(gradients.dense()));
  // The progress in after_step, except the time of the step.
  Progress now = context.progress();
  ++now.step;
  const bool due = when_.crossed(last_, now, context.total_steps());
  last_ = now;
  if (!due) return absl::OkStatus();
  return catch_exceptions("statistics of tensors", [&] {
    report(context, gradients.dense());
    return absl::OkStatus();
  });
}

void WatchTensorsHook::report(HookContext& context,
                              absl::Span<const NamedParameter> parameters) const {
  static const std::vector<int> kDefault = {WatchTensorsConfig::NORM};
  const bool given = config_.statistic_size() > 0;
  const absl::Span<const int> statistics =
      given ? absl::Span<const int>(config_.statistic().data(), config_.statistic_size())
            : absl::Span<const int>(kDefault);
  for (const Watched& watched : watched_) {
    const at::Tensor& value = parameters[watched.parameter].value;
    const at::Tensor tensor = watched.is_gradient ? value.grad() : value;
    if (!tensor.defined()) continue;
    for (const int number : statistics) {
      const auto statistic = static_cast<WatchTensorsConfig::Statistic>(number);
      context.report(absl::StrCat("watch/", watched.name, "/", statistic_name(statistic)),
                     tensor_statistic(statistic, tensor), Reduction::kLast);
    }
  }
}

MILLRACE_REGISTER_HOOK(watch_tensors, "reports statistics of parameters and gradients",
                       &WatchTensorsHook::create);

}  // namespace millrace
