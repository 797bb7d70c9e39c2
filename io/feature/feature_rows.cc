#include "io/feature/feature_rows.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status append_features(absl::Span<const FeatureSource> features, absl::Span<Column> columns,
                             absl::FunctionRef<absl::string_view(int64_t column)> column_name,
                             int64_t rows, ColumnPlace place, BadRows& bad, Block* block) {
  size_t sparse = 0, dense = 0, label = 0;
  for (const FeatureSource& feature : features) {
    // A label is then missing in every row.
    if (!feature.transform.has_value()) {
      if (feature.kind != FeatureConfig::LABEL) continue;
      std::vector<float>& values = block->labels[label++];
      values.resize(values.size() + rows, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const FeatureTransform& transform = *feature.transform;
    place.column = column_name(feature.column);
    std::vector<const IdColumn*> crossed;
    for (const int64_t other : feature.crossed) crossed.push_back(&block->sparse[other]);
    const FeatureInput input{
        .column = columns[feature.column],
        .place = place,
        .bad = bad,
        .weights = feature.weight_column < 0 ? nullptr : &columns[feature.weight_column],
        .crossed = crossed,
        .owned = feature.takes_column ? &columns[feature.column] : nullptr};
    const auto append = [&]() -> absl::Status {
      switch (feature.kind) {
        case FeatureConfig::SPARSE: return transform.append_ids(input, &block->sparse[sparse++]);
        case FeatureConfig::DENSE: return transform.append_numbers(input, &block->dense[dense++]);
        case FeatureConfig::LABEL: return transform.append_numbers(input, &block->labels[label++]);
        case FeatureConfig::WEIGHT: return transform.append_numbers(input, &block->weights);
        case FeatureConfig::EXAMPLE_ID:
          return transform.append_single_ids(input, &block->example_ids);
        case FeatureConfig::GROUP_ID: return transform.append_single_ids(input, &block->group_ids);
      }
      return absl::OkStatus();
    };
    // A registered transform may throw.
    RETURN_IF_ERROR(
        catch_part_exceptions(absl::StrCat("a transform of column ", place.column), append));
  }
  return absl::OkStatus();
}

}  // namespace millrace
