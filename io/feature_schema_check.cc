#include "io/feature_schema_check.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::Status check_feature_schema(absl::string_view where, const TrainConfig& train) {
  FieldErrors errors;
  std::set<std::string> names;
  std::set<FeatureConfig::Kind> kinds;
  for (int i = 0; i < train.feature_size(); ++i) {
    const FeatureConfig& feature = train.feature(i);
    const std::string place = entry(absl::StrCat(where, ".feature"), i, feature.name());
    errors.add(feature.name().empty() ? wrong(place, "name is missing")
                                      : untaken(place, feature.name(), &names));
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
