#include "checkpoint/state/row_filter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optim/name_pattern.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

class FrequencyFilter : public RowFilter {
 public:
  explicit FrequencyFilter(int64_t min_frequency) : min_frequency_(min_frequency) {}
  bool saves(const RowToSave& row) const override { return row.frequency >= min_frequency_; }

 private:
  const int64_t min_frequency_;
};

std::unique_ptr<RowFilter> create_frequency_filter(const RowFilterConfig& config) {
  return std::make_unique<FrequencyFilter>(config.frequency().min_frequency());
}

absl::Status check_frequency_filter(absl::string_view where, const RowFilterConfig& config) {
  if (config.frequency().has_min_frequency()) return absl::OkStatus();
  return wrong(where, "min_frequency is missing");
}

std::vector<RowFilterRegistry::Kind> row_filter_kinds() {
  return {{RowFilterConfig::kFrequency, &create_frequency_filter, &check_frequency_filter}};
}

}  // namespace

MILLRACE_PART_FAMILY(row_filter, RowFilterRegistry, "row filter",
                     "row_filter { custom { name: \"NAME\" } }", "kind", row_filter_kinds());

bool TableRowFilter::filters(absl::string_view table) const {
  return filter != nullptr && (tables.empty() || matches_any(std::string(table), tables));
}

absl::Status check_row_filter(absl::string_view where, const RowFilterConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  for (const std::string& pattern : config.table()) {
    if (pattern.empty()) return wrong(where, "table has an empty pattern");
  }
  if (config.kind_case() == RowFilterConfig::KIND_NOT_SET) {
    return wrong(where,
                 absl::StrCat("says not which rows; give ",
                              absl::StrJoin(row_filter_registry().kinds(), ", "), " or custom"));
  }
  return row_filter_registry().check(where, config);
}

absl::StatusOr<TableRowFilter> create_row_filter(const RowFilterConfig& config) {
  RETURN_IF_ERROR(check_row_filter("row_filter", config));
  TableRowFilter result;
  result.tables = {config.table().begin(), config.table().end()};
  ASSIGN_OR_RETURN(result.filter, row_filter_registry().create(config));
  return result;
}

}  // namespace millrace
