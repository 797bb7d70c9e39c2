#include "io/feature/text_ids.h"

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/bad_rows.h"
#include "io/block.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

// Returns true if the feature, without missing_values, makes ids of text. Errors: those of
// create_transform().
absl::StatusOr<bool> takes_text(const FeatureConfig& feature) {
  if (feature.kind() != FeatureConfig::SPARSE || feature.transform().empty()) return false;
  const TransformConfig& first = feature.transform(0);
  if (!first.has_custom()) {
    return first.has_hash() || first.has_multi_hash() || first.has_vocabulary();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> transform, create_transform(first, 0));
  return transform->takes() == Transform::Takes::kTextOrIntegers ||
         transform->takes() == Transform::Takes::kAny;
}

const std::string& table_of(const FeatureConfig& feature) {
  return feature.table().empty() ? feature.name() : feature.table();
}

// The configuration that determines the id of one text.
FeatureConfig of_one_text(const FeatureConfig& feature) {
  FeatureConfig one;
  one.set_kind(feature.kind());
  one.set_name(feature.name());
  one.set_column(column_of(feature));
  for (const TransformConfig& transform : feature.transform()) {
    if (transform.has_missing_values()) continue;  // a text that is asked for is not missing
    TransformConfig& step = *one.add_transform() = transform;
    // Ids of other words belong to no word.
    if (step.has_vocabulary()) step.mutable_vocabulary()->set_other_ids(0);
  }
  return one;
}

bool same_transforms(const FeatureConfig& a, const FeatureConfig& b) {
  if (a.transform_size() != b.transform_size()) return false;
  for (int i = 0; i < a.transform_size(); ++i) {
    if (a.transform(i).SerializeAsString() != b.transform(i).SerializeAsString()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::optional<TextIds>> TextIds::create(absl::Span<const FeatureConfig> features,
                                                       absl::string_view table, FileSystem& files) {
  std::optional<FeatureConfig> chosen;
  for (const FeatureConfig& feature : features) {
    if (table_of(feature) != table) continue;
    FeatureConfig one = of_one_text(feature);
    ASSIGN_OR_RETURN(const bool is_text, takes_text(one),
                     absl::StrCat("feature \"", feature.name(), "\""));
    if (!is_text) continue;
    // A text must name one row.
    for (const TransformConfig& step : one.transform()) {
      if (!step.has_multi_hash() && !step.has_cross()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "table ", table, ": feature ", feature.name(), " makes several ids of a text (",
          step.has_cross() ? "cross" : "multi_hash", "); give the ids as integers"));
    }
    if (chosen.has_value() && !same_transforms(*chosen, one)) {
      return absl::InvalidArgumentError(
          absl::StrCat("table ", table, ": features ", chosen->name(), " and ", feature.name(),
                       " make different ids of a text; give the ids as integers"));
    }
    if (!chosen.has_value()) chosen = std::move(one);
  }
  if (!chosen.has_value()) return std::optional<TextIds>();
  ASSIGN_OR_RETURN(FeatureTransform transform,
                   FeatureTransform::create(*chosen, ValueType::kString, LabelRange::kAny, files));
  return std::optional<TextIds>(TextIds(chosen->name(), std::move(transform)));
}

absl::StatusOr<std::vector<std::optional<int64_t>>> TextIds::find(const StringValues& texts) const {
  Column column;
  column.type = ValueType::kString;
  column.rows = texts.size();
  column.strings = texts;
  BadRows bad(column.rows, /*skip=*/false);
  IdColumn ids;
  RETURN_IF_ERROR(transform_.append_ids({column, {"", feature_, 0}, bad}, &ids));
  std::vector<std::optional<int64_t>> found(column.rows);
  for (int64_t row = 0; row < ids.rows; ++row) {
    if (ids.end(row) - ids.begin(row) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", feature_, " makes several ids of the text \"",
                       absl::CHexEscape(texts[row]), "\"; give the ids as integers"));
    }
    if (ids.begin(row) < ids.end(row)) found[row] = ids.values[ids.begin(row)];
  }
  return found;
}

}  // namespace millrace
