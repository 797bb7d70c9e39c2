#include "optim/dense_optimizer_check.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_frozen(absl::string_view where, const DenseOptimizerConfig& config) {
  const bool has_kind = config.kind_case() != DenseOptimizerConfig::KIND_NOT_SET;
  const bool has_schedule = config.schedule().kind_case() != ScheduleConfig::KIND_NOT_SET;
  const bool has_rate = config.learning_rate() != DenseOptimizerConfig().learning_rate();
  if (!has_kind && !has_schedule && !has_rate) return absl::OkStatus();
  const char* field = has_kind ? "a kind" : has_schedule ? "schedule" : "learning_rate";
  return wrong(where, absl::StrCat("its parameters are frozen: ", field,
                                   " would do nothing; remove it or frozen"));
}

// Checks the rules of the kind that are not ranges.
absl::Status check_kind(absl::string_view where, const DenseOptimizerConfig& config) {
  if (config.sgd().nesterov() && config.sgd().momentum() == 0) {
    return wrong(absl::StrCat(where, ".sgd"), "nesterov needs a momentum above 0");
  }
  if (!config.has_custom()) return absl::OkStatus();
  return annotate(PartFamily::check("dense optimizer", config.custom().name()),
                  absl::StrCat(where, ".custom"));
}

}  // namespace

absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config) {
  return all_errors({check_ranges(where, config),
                     config.frozen() ? check_frozen(where, config) : check_kind(where, config)});
}

absl::Status check_clipping(absl::string_view where, const ClippingConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.limit_case() != ClippingConfig::LIMIT_NOT_SET) return absl::OkStatus();
  return wrong(where, "no limit, so that nothing is clipped; give max_norm or max_value");
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
