#include "checkpoint/state/row_filter.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optim/name_pattern.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kRowFilterFamily = row_filter_registry();

class FrequencyFilter : public RowFilter {
 public:
  explicit FrequencyFilter(int64_t min_frequency) : min_frequency_(min_frequency) {}
  bool saves(const RowToSave& row) const override { return row.frequency >= min_frequency_; }

 private:
  const int64_t min_frequency_;
};

}  // namespace

CustomRegistry<RowFilterFactory>& row_filter_registry() {
  static auto* const registry =
      new CustomRegistry<RowFilterFactory>("row filter", "row_filter { custom { name: \"NAME\" } }",
                                           *RowFilterConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

bool TableRowFilter::filters(absl::string_view table) const {
  return filter != nullptr && (tables.empty() || matches_any(std::string(table), tables));
}

absl::Status check_row_filter(absl::string_view where, const RowFilterConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  for (const std::string& pattern : config.table()) {
    if (pattern.empty()) return wrong(where, "table has an empty pattern");
  }
  switch (config.kind_case()) {
    case RowFilterConfig::kFrequency:
      if (config.frequency().has_min_frequency()) return absl::OkStatus();
      return wrong(absl::StrCat(where, ".frequency"), "min_frequency is missing");
    case RowFilterConfig::kCustom:
      return annotate(row_filter_registry().check(config.custom().name()),
                      absl::StrCat(where, ".custom"));
    case RowFilterConfig::KIND_NOT_SET: break;
  }
  return wrong(where, "says not which rows; give frequency or custom");
}

absl::StatusOr<TableRowFilter> create_row_filter(const RowFilterConfig& config) {
  RETURN_IF_ERROR(check_row_filter("row_filter", config));
  TableRowFilter result;
  result.tables = {config.table().begin(), config.table().end()};
  if (config.has_frequency()) {
    result.filter = std::make_shared<FrequencyFilter>(config.frequency().min_frequency());
    return result;
  }
  ASSIGN_OR_RETURN(result.filter, row_filter_registry().create(config.custom()));
  return result;
}

}  // namespace millrace
