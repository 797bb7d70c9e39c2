#include "io/feature_schema.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::StatusOr<FeatureSchema> FeatureSchema::create(const TrainConfig& config,
                                                    std::vector<std::string> kept_columns) {
  RETURN_IF_ERROR(check_feature_schema("train", config));
  FeatureSchema schema;
  schema.kept_columns_ = std::move(kept_columns);
  for (const FeatureConfig& feature : config.feature()) {
    schema.features_.push_back(feature);
    switch (feature.kind()) {
      case FeatureConfig::SPARSE:
        schema.sparse_.push_back(
            {.name = feature.name(),
             .table = feature.table().empty() ? feature.name() : feature.table(),
             .pooling = feature.pooling(),
             .max_ids = feature.max_ids()});
        break;
      case FeatureConfig::DENSE: schema.dense_.push_back(feature.name()); break;
      case FeatureConfig::LABEL: schema.labels_.push_back(feature.name()); break;
      case FeatureConfig::WEIGHT:
      case FeatureConfig::EXAMPLE_ID:
      case FeatureConfig::GROUP_ID: break;
    }
  }
  return schema;
}

absl::StatusOr<int64_t> FeatureSchema::sparse_index(absl::string_view name) const {
  std::vector<std::string> names;
  for (const SparseFeature& feature : sparse_) {
    if (feature.name == name) return static_cast<int64_t>(names.size());
    names.push_back(feature.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no sparse feature \"", name, "\"", did_you_mean(name, names)));
}

absl::Status check_feature_schema(absl::string_view where, const TrainConfig& train) {
  FieldErrors errors;
  std::set<std::string> names;
  std::set<FeatureConfig::Kind> kinds;
  for (int i = 0; i < train.feature_size(); ++i) {
    const FeatureConfig& feature = train.feature(i);
    const std::string place = entry(absl::StrCat(where, ".feature"), i, feature.name());
    errors.add(feature.name().empty() ? wrong(place, "name is missing")
                                      : check_unique(place, feature.name(), &names));
    const bool is_first = kinds.insert(feature.kind()).second;
    const bool is_single = feature.kind() == FeatureConfig::WEIGHT ||
                           feature.kind() == FeatureConfig::EXAMPLE_ID ||
                           feature.kind() == FeatureConfig::GROUP_ID;
    if (is_single && !is_first) {
      errors.add(
          wrong(place, absl::StrCat("there is a feature of kind ",
                                    FeatureConfig::Kind_Name(feature.kind()), " before it")));
    }
  }
  if (kinds.count(FeatureConfig::LABEL) == 0) {
    errors.add(wrong(where, "no feature is of kind LABEL; at least one is needed"));
  }
  return errors.status();
}

}  // namespace millrace
