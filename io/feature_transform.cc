#include "io/feature_transform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/transform.h"

namespace millrace {
namespace {

bool is_id_kind(FeatureConfig::Kind kind) {
  return kind == FeatureConfig::SPARSE || kind == FeatureConfig::EXAMPLE_ID ||
         kind == FeatureConfig::GROUP_ID;
}

absl::string_view step_name(const TransformConfig& step) {
  switch (step.kind_case()) {
    case TransformConfig::kHash:
      return "hash";
    case TransformConfig::kModulo:
      return "modulo";
    case TransformConfig::kBucketize:
      return "bucketize";
    case TransformConfig::kLog1P:
      return "log1p";
    case TransformConfig::kClip:
      return "clip";
    case TransformConfig::kThreshold:
      return "threshold";
    case TransformConfig::KIND_NOT_SET:
      break;
  }
  return "transform";
}

absl::Status check_parameters(const TransformConfig& step) {
  switch (step.kind_case()) {
    case TransformConfig::kHash:
      if (step.hash().function() == HashTransform::FARM_HASH && step.hash().seed() != 0) {
        return absl::InvalidArgumentError("hash: FARM_HASH takes no seed");
      }
      break;
    case TransformConfig::kModulo:
      if (step.modulo().divisor() < 1) {
        return absl::InvalidArgumentError("modulo: divisor must be at least 1");
      }
      break;
    case TransformConfig::kBucketize: {
      const auto& boundaries = step.bucketize().boundary();
      for (int i = 0; i < boundaries.size(); ++i) {
        if (std::isnan(boundaries[i]) || (i > 0 && !(boundaries[i - 1] < boundaries[i]))) {
          return absl::InvalidArgumentError("bucketize: boundaries must increase strictly");
        }
      }
      break;
    }
    case TransformConfig::kClip:
      if (!(step.clip().min() <= step.clip().max())) {
        return absl::InvalidArgumentError("clip: min must not be above max");
      }
      break;
    case TransformConfig::kThreshold:
      if (!step.threshold().has_at_least() || std::isnan(step.threshold().at_least())) {
        return absl::InvalidArgumentError("threshold: at_least must be given, as a number");
      }
      break;
    case TransformConfig::kLog1P:
      break;
    case TransformConfig::KIND_NOT_SET:
      return absl::InvalidArgumentError("a transform that says nothing");
  }
  return absl::OkStatus();
}

bool is_integer(ValueType type) { return type == ValueType::kInt64 || type == ValueType::kUint64; }

// The type that comes out of `step`. Errors: InvalidArgument if it cannot take `in`.
absl::StatusOr<ValueType> step_type(const TransformConfig& step, ValueType in) {
  const bool text = in == ValueType::kString;
  bool fits = !text;
  absl::string_view needs = "numbers";
  ValueType out = ValueType::kInt64;
  switch (step.kind_case()) {
    case TransformConfig::kHash:
      fits = text || is_integer(in);
      needs = "text or integers";
      break;
    case TransformConfig::kModulo:
      fits = is_integer(in);
      needs = "integers";
      break;
    case TransformConfig::kBucketize:
      break;
    default:
      out = ValueType::kDouble;
  }
  if (fits) return out;
  return absl::InvalidArgumentError(
      absl::StrCat(step_name(step), " needs ", needs, " and gets ", describe(in)));
}

// What delimited text is read as.
ValueType type_for_text(const FeatureConfig& feature) {
  if (feature.transform().empty()) {
    return is_id_kind(feature.kind()) ? ValueType::kInt64 : ValueType::kDouble;
  }
  switch (feature.transform(0).kind_case()) {
    case TransformConfig::kHash:
      return ValueType::kString;
    case TransformConfig::kModulo:
      return ValueType::kInt64;
    default:
      return ValueType::kDouble;
  }
}

// The first of `numbers` that is NaN or infinite, or -1. Looks at exponents, so that the loop
// over good data is vectorised.
int64_t find_non_finite(const std::vector<double>& numbers) {
  constexpr uint64_t kExponent = 0x7ff0000000000000ULL;
  uint64_t found = 0;
  for (const double x : numbers) {
    found |= (std::bit_cast<uint64_t>(x) & kExponent) == kExponent;
  }
  if (found == 0) return -1;
  return std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); }) -
         numbers.begin();
}

// The row that holds the value at `index`.
int64_t row_of_value(const Column& column, int64_t index) {
  if (column.offsets.empty()) return index;
  return std::upper_bound(column.offsets.begin(), column.offsets.end(), index) -
         column.offsets.begin() - 1;
}

void fill_numbers(const Column& column, std::vector<double>* numbers) {
  if (column.type == ValueType::kDouble) {
    *numbers = column.doubles;
  } else if (column.type == ValueType::kUint64) {
    for (const int64_t id : column.int64s) numbers->push_back(static_cast<uint64_t>(id));
  } else {
    numbers->assign(column.int64s.begin(), column.int64s.end());
  }
}

void make_jagged(IdColumn* column) {
  if (!column->offsets.empty()) return;
  column->offsets.resize(column->rows + 1);
  for (int64_t row = 0; row <= column->rows; ++row) column->offsets[row] = row;
}

}  // namespace

const std::string& column_of(const FeatureConfig& feature) {
  return feature.column().empty() ? feature.name() : feature.column();
}

absl::Status ColumnPlace::error(int64_t row, absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat(path, ", row ", first_row + row, ", column ", column, ": ", what));
}

absl::StatusOr<FeatureTransform> FeatureTransform::create(const FeatureConfig& feature,
                                                          ValueType column, bool binary_labels) {
  FeatureTransform transform;
  transform.wants_ids_ = is_id_kind(feature.kind());
  transform.binary_ = binary_labels && feature.kind() == FeatureConfig::LABEL;
  transform.has_default_ =
      transform.wants_ids_ ? feature.has_default_id() : feature.has_default_value();
  transform.default_id_ = feature.default_id();
  transform.default_number_ = feature.default_value();
  transform.steps_.assign(feature.transform().begin(), feature.transform().end());
  RETURN_IF_ERROR(
      transform.check_types(feature, column),
      absl::StrCat("feature \"", feature.name(), "\" from column \"", column_of(feature), "\""));
  return transform;
}

absl::Status FeatureTransform::check_types(const FeatureConfig& feature, ValueType column) {
  if (wants_ids_ ? feature.has_default_value() : feature.has_default_id()) {
    return absl::InvalidArgumentError(wants_ids_ ? "default_value is for numbers; use default_id"
                                                 : "default_id is for ids; use default_value");
  }
  if (!wants_ids_ && has_default_ && !std::isfinite(static_cast<float>(default_number_))) {
    return absl::InvalidArgumentError("default_value must be a finite 32-bit number");
  }
  if (binary_ && has_default_ && default_number_ != 0 && default_number_ != 1) {
    return absl::InvalidArgumentError("default_value of a binary label must be 0 or 1");
  }
  reads_as_ = column == ValueType::kText ? type_for_text(feature) : column;
  ValueType type = reads_as_;
  for (const TransformConfig& step : steps_) {
    RETURN_IF_ERROR(check_parameters(step));
    ASSIGN_OR_RETURN(type, step_type(step, type));
  }
  if (wants_ids_ && !is_integer(type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        FeatureConfig::Kind_Name(feature.kind()), " needs integers and gets ", describe(type),
        type == ValueType::kString ? "; add the transform hash" : "; add the transform bucketize"));
  }
  if (!wants_ids_ && type == ValueType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(FeatureConfig::Kind_Name(feature.kind()), " needs numbers and gets text"));
  }
  return absl::OkStatus();
}

void FeatureTransform::apply(const TransformConfig& step, const Column& column, Values* values) {
  if (step.has_hash()) {
    const HashTransform& hash = step.hash();
    if (!values->are_ids) {
      values->ids.resize(column.strings.size());
      hash_texts(hash.function(), hash.seed(), column.strings, absl::MakeSpan(values->ids));
    } else {
      hash_ids(hash.function(), hash.seed(), absl::MakeSpan(values->ids));
    }
    values->are_ids = true;
    return;
  }
  if (step.has_modulo()) return modulo_ids(step.modulo().divisor(), absl::MakeSpan(values->ids));
  if (values->are_ids) {  // the others take numbers
    values->numbers.assign(values->ids.begin(), values->ids.end());
    values->are_ids = false;
  }
  if (step.has_log1p()) return signed_log1p(absl::MakeSpan(values->numbers));
  if (step.has_clip()) {
    return clip(step.clip().min(), step.clip().max(), absl::MakeSpan(values->numbers));
  }
  if (step.has_threshold()) {
    return threshold(step.threshold().at_least(), absl::MakeSpan(values->numbers));
  }
  values->ids.resize(values->numbers.size());
  bucketize(step.bucketize().boundary(), values->numbers, absl::MakeSpan(values->ids));
  values->are_ids = true;
}

absl::StatusOr<FeatureTransform::Values> FeatureTransform::run(const Column& column,
                                                               const ColumnPlace& place) const {
  Values values;
  // Integers stay integers until a step (or the feature) wants numbers.
  values.are_ids = column.type == ValueType::kInt64 ||
                   (column.type == ValueType::kUint64 && !steps_.empty() &&
                    (steps_[0].has_hash() || steps_[0].has_modulo())) ||
                   (column.type == ValueType::kUint64 && steps_.empty() && wants_ids_);
  if (values.are_ids) {
    values.ids = column.int64s;
  } else if (column.type != ValueType::kString) {
    fill_numbers(column, &values.numbers);
    if (const int64_t bad = find_non_finite(values.numbers); bad >= 0) {
      return place.error(row_of_value(column, bad),
                         absl::StrCat(values.numbers[bad], " is not a finite number"));
    }
  }
  for (const TransformConfig& step : steps_) apply(step, column, &values);
  return values;
}

absl::Status FeatureTransform::append_ids(const Column& column, const ColumnPlace& place,
                                          IdColumn* out) const {
  ASSIGN_OR_RETURN(const Values values, run(column, place));
  if (column.offsets.empty() && out->offsets.empty()) {
    out->rows += column.rows;
    out->values.insert(out->values.end(), values.ids.begin(), values.ids.end());
    return absl::OkStatus();
  }
  make_jagged(out);
  out->rows += column.rows;
  if (!has_default_) {
    const int64_t before = out->offsets.back();
    for (int64_t row = 0; row < column.rows; ++row)
      out->offsets.push_back(before + column.end(row));
    out->values.insert(out->values.end(), values.ids.begin(), values.ids.end());
    return absl::OkStatus();
  }
  for (int64_t row = 0; row < column.rows; ++row) {
    const int64_t begin = column.begin(row), end = column.end(row);
    if (begin == end) out->values.push_back(default_id_);
    out->values.insert(out->values.end(), values.ids.begin() + begin, values.ids.begin() + end);
    out->offsets.push_back(static_cast<int64_t>(out->values.size()));
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::append_single_ids(const Column& column, const ColumnPlace& place,
                                                 std::vector<int64_t>* out) const {
  IdColumn ids;
  RETURN_IF_ERROR(append_ids(column, place, &ids));
  for (int64_t row = 0; row < ids.rows; ++row) {
    const int64_t count = ids.end(row) - ids.begin(row);
    if (count == 0) return place.error(row, "no value, and the feature has no default_id");
    if (count > 1) return place.error(row, absl::StrCat(count, " values where one is due"));
    out->push_back(ids.values[ids.begin(row)]);
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::to_float(const ColumnPlace& place, int64_t row, double value,
                                        float* out) const {
  if (std::abs(value) > std::numeric_limits<float>::max()) {
    return place.error(row, absl::StrCat(value, " does not fit a 32-bit float"));
  }
  if (binary_ && value != 0 && value != 1) {
    return place.error(row, absl::StrCat("label ", value, " of a binary task is neither 0 nor 1"));
  }
  *out = static_cast<float>(value);
  return absl::OkStatus();
}

absl::Status FeatureTransform::append_numbers(const Column& column, const ColumnPlace& place,
                                              std::vector<float>* out) const {
  ASSIGN_OR_RETURN(Values values, run(column, place));
  if (values.are_ids) values.numbers.assign(values.ids.begin(), values.ids.end());
  const size_t before = out->size();
  out->resize(before + column.rows);
  float* next = out->data() + before;
  for (int64_t row = 0; row < column.rows; ++row, ++next) {
    const int64_t begin = column.begin(row);
    const int64_t count = column.end(row) - begin;
    if (count > 1) return place.error(row, absl::StrCat(count, " values where one is due"));
    if (count == 0 && !has_default_) {
      return place.error(row, "no value, and the feature has no default_value");
    }
    const double value = count == 0 ? default_number_ : values.numbers[begin];
    RETURN_IF_ERROR(to_float(place, row, value, next));
  }
  return absl::OkStatus();
}

}  // namespace millrace
