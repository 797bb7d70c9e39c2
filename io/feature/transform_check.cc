#include "io/feature/transform_check.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_hash(const std::string& where, const HashTransform& hash) {
  if (hash.function() != HashTransform::FARM_HASH || hash.seed() == 0) return absl::OkStatus();
  return wrong(where, "FARM_HASH takes no seed");
}

absl::Status check_bucketize(const std::string& where, const BucketizeTransform& bucketize) {
  if (bucketize.boundary_size() == 0) return wrong(where, "boundary is missing");
  for (int i = 0; i < bucketize.boundary_size(); ++i) {
    if (std::isnan(bucketize.boundary(i))) {
      return wrong(where, absl::StrCat("boundary[", i, "] is not a number"));
    }
    if (i == 0 || bucketize.boundary(i - 1) < bucketize.boundary(i)) continue;
    return wrong(where, absl::StrCat("boundary[", i, "] is ", bucketize.boundary(i), " after ",
                                     bucketize.boundary(i - 1), "; must increase strictly"));
  }
  return absl::OkStatus();
}

absl::Status check_clip(const std::string& where, const ClipTransform& clip) {
  if (clip.min() <= clip.max()) return absl::OkStatus();
  return wrong(where, absl::StrCat("min ", clip.min(), " is above max ", clip.max()));
}

absl::Status check_threshold(const std::string& where, const ThresholdTransform& threshold) {
  if (!threshold.has_at_least()) return wrong(where, "at_least is missing");
  if (std::isnan(threshold.at_least())) return wrong(where, "at_least is not a number");
  return absl::OkStatus();
}

absl::Status check_multi_hash(const std::string& where, const MultiHashTransform& hash) {
  if (hash.function() == HashTransform::FARM_HASH) return wrong(where, "FARM_HASH takes no seed");
  return absl::OkStatus();
}

absl::Status check_vocabulary(const std::string& where, const VocabularyTransform& vocabulary) {
  return vocabulary.path().empty() ? wrong(where, "path is missing") : absl::OkStatus();
}

absl::Status check_standardize(const std::string& where, const StandardizeTransform& standardize) {
  if (!standardize.has_mean()) return wrong(where, "mean is missing");
  if (!standardize.has_standard_deviation()) return wrong(where, "standard_deviation is missing");
  return absl::OkStatus();
}

absl::Status check_missing_values(const std::string& where, const MissingValuesTransform& missing) {
  if (missing.number_size() == 0 && missing.text_size() == 0 && !missing.nan()) {
    return wrong(where, "says not which values are missing; give number, text or nan: true");
  }
  for (int i = 0; i < missing.number_size(); ++i) {
    if (!std::isnan(missing.number(i))) continue;
    return wrong(where, absl::StrCat("number[", i, "] is not a number; write nan: true"));
  }
  for (int i = 0; i < missing.text_size(); ++i) {
    if (!missing.text(i).empty()) continue;
    return wrong(where,
                 absl::StrCat("text[", i, "] is empty; an empty cell is missing without it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view transform_name(const TransformConfig& transform) {
  const auto* const field = TransformConfig::GetReflection()->GetOneofFieldDescriptor(
      transform, TransformConfig::descriptor()->FindOneofByName("kind"));
  return field == nullptr ? absl::string_view("transform") : absl::string_view(field->name());
}

absl::Status check_transform(absl::string_view where, const TransformConfig& transform) {
  RETURN_IF_ERROR(check_ranges(where, transform));
  const std::string place = absl::StrCat(where, ".", transform_name(transform));
  switch (transform.kind_case()) {
    case TransformConfig::kHash: return check_hash(place, transform.hash());
    case TransformConfig::kBucketize: return check_bucketize(place, transform.bucketize());
    case TransformConfig::kClip: return check_clip(place, transform.clip());
    case TransformConfig::kThreshold: return check_threshold(place, transform.threshold());
    case TransformConfig::kMultiHash: return check_multi_hash(place, transform.multi_hash());
    case TransformConfig::kCross:
      if (!transform.cross().feature().empty()) return absl::OkStatus();
      return wrong(place, "feature is missing");
    case TransformConfig::kVocabulary: return check_vocabulary(place, transform.vocabulary());
    case TransformConfig::kStandardize: return check_standardize(place, transform.standardize());
    case TransformConfig::kMissingValues:
      return check_missing_values(place, transform.missing_values());
    case TransformConfig::kCustom:
      return annotate(PartFamily::check("transform", transform.custom().name()), place);
    case TransformConfig::kModulo:
    case TransformConfig::kTruncate:
    case TransformConfig::kLog1P:
    case TransformConfig::kUnique:
    case TransformConfig::kIsMissing:
    case TransformConfig::kCast: return absl::OkStatus();
    case TransformConfig::KIND_NOT_SET: break;
  }
  return wrong(where,
               "says not which transform; known: hash, modulo, bucketize, log1p, clip, "
               "threshold, multi_hash, cross, truncate, unique, vocabulary, cast, standardize, "
               "missing_values, is_missing, custom");
}

absl::Status check_transform_order(absl::string_view where, const FeatureConfig& feature) {
  const std::string list = absl::StrCat(where, ".transform");
  for (int i = 1; i < feature.transform_size(); ++i) {
    const TransformConfig& transform = feature.transform(i);
    const std::string place = absl::StrCat(entry(list, i), ".", transform_name(transform));
    if (transform.has_missing_values()) return wrong(place, "must be the first transform");
    const bool is_early = i == 1 && feature.transform(0).has_missing_values();
    if (transform.has_is_missing() && !is_early) {
      return wrong(place, "must be the first transform, or the second after missing_values");
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
