#include "embedding/policies/table_policy_check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

absl::Status check_count(const std::string& where, const CountAdmission& count) {
  if (!count.has_min_count()) return wrong(where, "min_count is missing");
  if (!count.has_sketch()) return within(where, "min_count", count.min_count(), 1, kMaxExactCount);
  RETURN_IF_ERROR(within(where, "min_count", count.min_count(), 1, kMaxSketchCount));
  const std::string sketch = where + ".sketch";
  RETURN_IF_ERROR(within(sketch, "capacity", count.sketch().capacity(), 1, kMaxSketchCapacity));
  const double error = count.sketch().error_probability();
  if (error >= kMinSketchError && error < 1) return absl::OkStatus();
  return wrong_number(sketch, "error_probability", error, "at least 1e-06 and below 1");
}

}  // namespace

absl::Status check_admission(absl::string_view table, const AdmissionConfig& config) {
  const std::string where = absl::StrCat(table, ".admission");
  if (config.has_count()) return check_count(where + ".count", config.count());
  if (config.has_custom()) {
    return annotate(PartFamily::check("admission", config.custom().name()), where + ".custom");
  }
  if (!config.has_probability()) return absl::OkStatus();
  const std::string probability = where + ".probability";
  if (!config.probability().has_probability()) return wrong(probability, "probability is missing");
  const double value = config.probability().probability();
  if (value > 0 && value <= 1) return absl::OkStatus();
  return wrong_number(probability, "probability", value,
                      "above 0 and at most 1 (read_only admits nothing)");
}

absl::Status check_default_value(absl::string_view table, const DefaultValueConfig& config) {
  if (!config.has_constant() || std::isfinite(config.constant().value())) return absl::OkStatus();
  return wrong_number(absl::StrCat(table, ".default_value.constant"), "value",
                      config.constant().value(), "finite");
}

absl::Status check_eviction(absl::string_view table, const EvictionConfig& config) {
  const std::string where = absl::StrCat(table, ".eviction");
  if (!config.has_idle_steps() && !config.has_idle_seconds() && !config.has_idle_windows() &&
      !config.has_frequency_below() && !config.has_norm_below() && !config.has_custom()) {
    return wrong(where,
                 "says not what to evict; known: idle_steps, idle_seconds, idle_windows, "
                 "frequency_below, norm_below, custom");
  }
  if (config.has_custom()) {
    RETURN_IF_ERROR(PartFamily::check("eviction", config.custom().name()), where + ".custom");
  }
  if (config.has_idle_steps() && config.idle_steps() < 1) {
    return wrong_number(where, "idle_steps", config.idle_steps(), "at least 1");
  }
  if (config.has_idle_seconds()) {
    RETURN_IF_ERROR(positive(where, "idle_seconds", config.idle_seconds()));
  }
  if (config.has_idle_windows()) {
    RETURN_IF_ERROR(within(where, "idle_windows", config.idle_windows(), 1, kMaxIdleWindows));
  }
  if (config.has_frequency_below()) {
    RETURN_IF_ERROR(positive(where, "frequency_below", config.frequency_below()));
  } else if (config.half_life_steps() != 0) {
    return wrong(where, "half_life_steps is given without frequency_below");
  }
  if (!std::isfinite(config.half_life_steps()) || config.half_life_steps() < 0) {
    return wrong_number(where, "half_life_steps", config.half_life_steps(),
                        "at least 0 and finite");
  }
  return config.has_norm_below() ? positive(where, "norm_below", config.norm_below())
                                 : absl::OkStatus();
}

absl::Status check_limit(absl::string_view table, const LimitConfig& config) {
  const std::string where = absl::StrCat(table, ".limit");
  if (config.max_rows() < 0) {
    return wrong_number(where, "max_rows", config.max_rows(), "at least 0");
  }
  if (config.max_bytes() < 0) {
    return wrong_number(where, "max_bytes", config.max_bytes(), "at least 0");
  }
  if (config.max_rows() == 0 && config.max_bytes() == 0 && config.on_full() != LimitConfig::FAIL) {
    return wrong(where, absl::StrCat("on_full is ", LimitConfig::OnFull_Name(config.on_full()),
                                     ", but neither max_rows nor max_bytes is given"));
  }
  if (config.evict_to() > 0 && config.evict_to() <= 1) return absl::OkStatus();
  return wrong_number(where, "evict_to", config.evict_to(), "above 0 and at most 1");
}

absl::Status check_table_policies(absl::string_view where, const TableConfig& config) {
  RETURN_IF_ERROR(check_admission(where, config.admission()));
  RETURN_IF_ERROR(check_default_value(where, config.default_value()));
  if (config.has_eviction()) RETURN_IF_ERROR(check_eviction(where, config.eviction()));
  return check_limit(where, config.limit());
}

}  // namespace millrace
