#include "embedding/policies/table_policy_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embedding/policies/admission_registry.h"
#include "embedding/policies/eviction_registry.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_admission(absl::string_view table, const AdmissionConfig& config) {
  const std::string where = absl::StrCat(table, ".admission");
  RETURN_IF_ERROR(check_ranges(where, config));
  return admission_registry().check(where, config);
}

absl::Status check_default_value(absl::string_view table, const DefaultValueConfig& config) {
  return check_ranges(absl::StrCat(table, ".default_value"), config);
}

absl::Status check_eviction(absl::string_view table, const EvictionConfig& config) {
  const std::string where = absl::StrCat(table, ".eviction");
  RETURN_IF_ERROR(check_ranges(where, config));
  if (!config.has_idle_steps() && !config.has_idle_seconds() && !config.has_idle_windows() &&
      !config.has_frequency_below() && !config.has_norm_below() && !config.has_custom()) {
    return wrong(where,
                 "says not what to evict; known: idle_steps, idle_seconds, idle_windows, "
                 "frequency_below, norm_below, custom");
  }
  if (config.has_custom()) {
    RETURN_IF_ERROR(eviction_registry().check(config.custom().name()), where + ".custom");
  }
  if (!config.has_frequency_below() && config.half_life_steps() != 0) {
    return wrong(where, "half_life_steps is given without frequency_below");
  }
  return absl::OkStatus();
}

absl::Status check_limit(absl::string_view table, const LimitConfig& config) {
  const std::string where = absl::StrCat(table, ".limit");
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.max_rows() == 0 && config.max_bytes() == 0 && config.on_full() != LimitConfig::FAIL) {
    return wrong(where, absl::StrCat("on_full is ", LimitConfig::OnFull_Name(config.on_full()),
                                     ", but neither max_rows nor max_bytes is given"));
  }
  return absl::OkStatus();
}

absl::Status check_table_policies(absl::string_view where, const TableConfig& config) {
  RETURN_IF_ERROR(check_admission(where, config.admission()));
  RETURN_IF_ERROR(check_default_value(where, config.default_value()));
  if (config.has_eviction()) RETURN_IF_ERROR(check_eviction(where, config.eviction()));
  return check_limit(where, config.limit());
}

}  // namespace millrace
