#include "io/feature_schema.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace millrace {
namespace {

absl::Status check_single(const FeatureConfig& feature, const FeatureConfig** seen) {
  if (*seen != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "features \"", (*seen)->name(), "\" and \"", feature.name(), "\" are both of kind ",
        FeatureConfig::Kind_Name(feature.kind()), "; there may be one"));
  }
  *seen = &feature;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureSchema> FeatureSchema::create(const TrainConfig& config) {
  FeatureSchema schema;
  absl::flat_hash_set<std::string> names;
  const FeatureConfig* single[FeatureConfig::Kind_ARRAYSIZE] = {};
  for (const FeatureConfig& feature : config.feature()) {
    if (feature.name().empty()) return absl::InvalidArgumentError("a feature without a name");
    if (!names.insert(feature.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two features named \"", feature.name(), "\""));
    }
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
      case FeatureConfig::GROUP_ID:
        if (absl::Status status = check_single(feature, &single[feature.kind()]); !status.ok()) {
          return status;
        }
        break;
    }
  }
  if (schema.labels_.empty()) {
    return absl::InvalidArgumentError("no feature is of kind LABEL: there is nothing to predict");
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

}  // namespace millrace
