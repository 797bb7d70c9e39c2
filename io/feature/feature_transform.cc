#include "io/feature/feature_transform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/transform/list_transform.h"
#include "io/transform/transform.h"
#include "proto/transform_check.h"

namespace millrace {
namespace {

bool is_id_kind(FeatureConfig::Kind kind) {
  return kind == FeatureConfig::SPARSE || kind == FeatureConfig::EXAMPLE_ID ||
         kind == FeatureConfig::GROUP_ID;
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
    case TransformConfig::kMultiHash:
    case TransformConfig::kVocabulary:
      fits = text || is_integer(in);
      needs = "text or integers";
      break;
    case TransformConfig::kModulo:
    case TransformConfig::kCross:
    case TransformConfig::kTruncate:
    case TransformConfig::kUnique:
      fits = is_integer(in);
      needs = "integers";
      break;
    case TransformConfig::kBucketize: break;
    case TransformConfig::kCast:
      if (is_integer(in)) out = in;
      break;
    default: out = ValueType::kDouble;
  }
  if (fits) return out;
  const bool wants_cast = in == ValueType::kDouble;
  return absl::InvalidArgumentError(absl::StrCat(
      transform_name(step), " needs ", needs, " and gets ", describe(in),
      wants_cast ? "; if they are ids stored as numbers, put the transform cast before it" : ""));
}

// What to do about ids that are not integers.
absl::string_view advice_for_ids(ValueType type) {
  if (type == ValueType::kString) return "; add the transform hash";
  return "; add the transform cast if they are ids stored as numbers, as pandas stores ids with "
         "nulls, or bucketize to make ids of ranges";
}

// What delimited text is read as.
ValueType type_for_text(const FeatureConfig& feature) {
  if (feature.transform().empty()) {
    return is_id_kind(feature.kind()) ? ValueType::kInt64 : ValueType::kDouble;
  }
  switch (feature.transform(0).kind_case()) {
    case TransformConfig::kHash:
    case TransformConfig::kMultiHash:
    case TransformConfig::kVocabulary: return ValueType::kString;
    case TransformConfig::kModulo:
    case TransformConfig::kCross:
    case TransformConfig::kTruncate:
    case TransformConfig::kUnique: return ValueType::kInt64;
    default: return ValueType::kDouble;
  }
}

// Whether one of `numbers` is NaN or infinite. Looks at exponents, so that the loop is vectorised.
bool has_non_finite(absl::Span<const double> numbers) {
  constexpr uint64_t kExponent = 0x7ff0000000000000ULL;
  uint64_t found = 0;
  for (const double x : numbers) {
    found |= (std::bit_cast<uint64_t>(x) & kExponent) == kExponent;
  }
  return found != 0;
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

// Whether a step looks at lists, or changes how many values they have.
bool is_list_step(const TransformConfig& step) {
  switch (step.kind_case()) {
    case TransformConfig::kMultiHash:
    case TransformConfig::kCross:
    case TransformConfig::kTruncate:
    case TransformConfig::kUnique:
    case TransformConfig::kVocabulary: return true;
    default: return false;
  }
}

// Bad numbers become 0, their rows bad.
absl::Status refuse_non_finite(const FeatureInput& input, const Column& column,
                               absl::string_view what, std::vector<double>* numbers) {
  if (!has_non_finite(*numbers)) return absl::OkStatus();
  for (size_t i = 0; i < numbers->size(); ++i) {
    double& number = (*numbers)[i];
    if (std::isfinite(number)) continue;
    const int64_t row = row_of_value(column, static_cast<int64_t>(i));
    if (!input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(
          row, input.place.error(row, absl::StrCat(what, number, " is not a finite number"))));
    }
    number = 0;
  }
  return absl::OkStatus();
}

// Below it every integer is a number of its own.
constexpr double kExactIntegers = 0x1p53;

bool is_exact_integer(double number) {
  return std::abs(number) < kExactIntegers && number == std::trunc(number);
}

// What is wrong with a label that is not in the range.
absl::string_view outside_text(LabelRange range) {
  if (range == LabelRange::kBinary) return "of a binary task is neither 0 nor 1";
  return "is outside [0, 1], but the loss of this model is a cross entropy; the transform "
         "threshold "
         "makes 0 and 1 of other labels";
}

// Appends rows without defaults.
void append_lists(const IdColumn& list, IdColumn* out) {
  if (!list.weights.empty() && out->weights.empty()) out->weights.resize(out->values.size(), 1);
  if (!list.weights.empty()) {
    out->weights.insert(out->weights.end(), list.weights.begin(), list.weights.end());
  }
  out->values.insert(out->values.end(), list.values.begin(), list.values.end());
  if (list.weights.empty() && !out->weights.empty()) out->weights.resize(out->values.size(), 1);
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
                                                          ValueType column, LabelRange labels,
                                                          FileSystem& files) {
  FeatureTransform transform;
  transform.wants_ids_ = is_id_kind(feature.kind());
  transform.labels_ = feature.kind() == FeatureConfig::LABEL ? labels : LabelRange::kAny;
  transform.has_default_ =
      transform.wants_ids_ ? feature.has_default_id() : feature.has_default_value();
  transform.default_id_ = feature.default_id();
  transform.default_number_ = feature.default_value();
  transform.steps_.assign(feature.transform().begin(), feature.transform().end());
  const std::string what =
      absl::StrCat("feature \"", feature.name(), "\" from column \"", column_of(feature), "\"");
  RETURN_IF_ERROR(transform.check_types(feature, column), what);
  transform.drop_idle_casts();
  RETURN_IF_ERROR(transform.load_vocabularies(files), what);
  size_t crosses = 0;
  for (const TransformConfig& step : transform.steps_) {
    transform.cross_number_.push_back(crosses);
    crosses += step.has_cross() ? 1 : 0;
  }
  return transform;
}

absl::Status FeatureTransform::load_vocabularies(FileSystem& files) {
  for (const TransformConfig& step : steps_) {
    vocabularies_.emplace_back();
    if (!step.has_vocabulary()) continue;
    const VocabularyTransform& vocabulary = step.vocabulary();
    ASSIGN_OR_RETURN(vocabularies_.back(),
                     Vocabulary::load(files, vocabulary.path(), vocabulary.other_ids()));
  }
  return absl::OkStatus();
}

void FeatureTransform::drop_idle_casts() {
  if (!is_integer(reads_as_)) return;
  const auto is_cast = [](const TransformConfig& step) { return step.has_cast(); };
  steps_.erase(steps_.begin(), std::find_if_not(steps_.begin(), steps_.end(), is_cast));
}

absl::Status FeatureTransform::check_types(const FeatureConfig& feature, ValueType column) {
  if (wants_ids_ ? feature.has_default_value() : feature.has_default_id()) {
    return absl::InvalidArgumentError(wants_ids_ ? "default_value is for numbers; use default_id"
                                                 : "default_id is for ids; use default_value");
  }
  if (!wants_ids_ && has_default_ && !std::isfinite(static_cast<float>(default_number_))) {
    return absl::InvalidArgumentError("default_value must be a finite 32-bit number");
  }
  if (!wants_ids_ && has_default_ && !in_range(labels_, default_number_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("default_value ", default_number_, " ", outside_text(labels_)));
  }
  reads_as_ = column == ValueType::kText ? type_for_text(feature) : column;
  ValueType type = reads_as_;
  for (size_t i = 0; i < steps_.size(); ++i) {
    RETURN_IF_ERROR(check_transform(absl::StrCat("transform[", i, "]"), steps_[i]));
    ASSIGN_OR_RETURN(type, step_type(steps_[i], type));
  }
  if (wants_ids_ && !is_integer(type)) {
    return absl::InvalidArgumentError(absl::StrCat(FeatureConfig::Kind_Name(feature.kind()),
                                                   " needs integers and gets ", describe(type),
                                                   advice_for_ids(type)));
  }
  if (!wants_ids_ && type == ValueType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(FeatureConfig::Kind_Name(feature.kind()), " needs numbers and gets text"));
  }
  return absl::OkStatus();
}

void FeatureTransform::apply_vocabulary(size_t step, const FeatureInput& input,
                                        Values* values) const {
  const Vocabulary& vocabulary = *vocabularies_[step];
  std::vector<int64_t>& ids = values->list.values;
  if (!values->are_ids) {
    ids.resize(input.column.strings.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = vocabulary.find(input.column.strings[i]);
  } else {
    for (int64_t& id : ids) id = vocabulary.find(id);
  }
  values->are_ids = true;
  if (steps_[step].vocabulary().other_ids() > 0) return;
  std::vector<uint8_t> known(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) known[i] = ids[i] >= 0;
  keep_values(known, &values->list);
}

absl::Status FeatureTransform::apply_cast(const FeatureInput& input, Values* values) const {
  if (values->are_ids) return absl::OkStatus();
  IdColumn& list = values->list;
  list.values.resize(values->numbers.size());
  for (int64_t row = 0; row < list.rows; ++row) {
    for (int64_t i = list.begin(row); i < list.end(row); ++i) {
      const double number = values->numbers[i];
      const bool exact = is_exact_integer(number);
      list.values[i] = exact ? static_cast<int64_t>(number) : 0;
      if (exact || input.bad.contains(row)) continue;
      RETURN_IF_ERROR(input.bad.add(
          row, input.place.error(row, absl::StrFormat("%.17g is no integer below 2^53, which the "
                                                      "transform cast needs",
                                                      number))));
    }
  }
  values->are_ids = true;
  return absl::OkStatus();
}

// `values->are_ids` is false for text too, which is then still in the column.
void FeatureTransform::apply(size_t number, const FeatureInput& input, Values* values) const {
  const TransformConfig& step = steps_[number];
  IdColumn& list = values->list;
  switch (step.kind_case()) {
    case TransformConfig::kHash: {
      const HashTransform& hash = step.hash();
      if (values->are_ids) {
        return hash_ids(hash.function(), hash.seed(), absl::MakeSpan(list.values));
      }
      list.values.resize(input.column.strings.size());
      hash_texts(hash.function(), hash.seed(), input.column.strings, absl::MakeSpan(list.values));
      values->are_ids = true;
      return;
    }
    case TransformConfig::kModulo:
      return modulo_ids(step.modulo().divisor(), absl::MakeSpan(list.values));
    case TransformConfig::kMultiHash: {
      const MultiHashTransform& hash = step.multi_hash();
      multi_hash(hash.function(), hash.seed(), hash.count(), hash.divisor(),
                 values->are_ids ? nullptr : &input.column.strings, &list);
      values->are_ids = true;
      return;
    }
    case TransformConfig::kVocabulary: return apply_vocabulary(number, input, values);
    case TransformConfig::kCross: {
      const IdColumn& other = *input.crossed[cross_number_[number]];
      return cross(other, other.rows - list.rows, step.cross().seed(), &list);
    }
    case TransformConfig::kTruncate:
      return truncate(step.truncate().count(), step.truncate().keep(), &list);
    case TransformConfig::kUnique: return unique(&list);
    default: break;
  }
  std::vector<double>& numbers = values->numbers;
  if (values->are_ids) {  // the others take numbers
    numbers.assign(list.values.begin(), list.values.end());
    values->are_ids = false;
  }
  if (step.has_log1p()) return signed_log1p(absl::MakeSpan(numbers));
  if (step.has_clip()) return clip(step.clip().min(), step.clip().max(), absl::MakeSpan(numbers));
  if (step.has_threshold()) return threshold(step.threshold().at_least(), absl::MakeSpan(numbers));
  list.values.resize(numbers.size());
  bucketize(step.bucketize().boundary(), numbers, absl::MakeSpan(list.values));
  values->are_ids = true;
}

absl::Status FeatureTransform::take_weights(const FeatureInput& input, IdColumn* list) const {
  const Column& weights = *input.weights;
  std::vector<double> numbers;
  fill_numbers(weights, &numbers);
  RETURN_IF_ERROR(refuse_non_finite(input, weights, "weight ", &numbers));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::abs(numbers[i]) <= std::numeric_limits<float>::max()) continue;
    const int64_t row = row_of_value(weights, static_cast<int64_t>(i));
    if (!input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(
          row, input.place.error(
                   row, absl::StrCat("weight ", numbers[i], " does not fit a 32-bit float"))));
    }
    numbers[i] = 0;
  }
  list->weights.resize(list->values.size(), 1);
  for (int64_t row = 0; row < list->rows; ++row) {
    const int64_t begin = input.column.begin(row), count = input.column.end(row) - begin;
    const int64_t given = weights.end(row) - weights.begin(row);
    if (count == given) {
      std::copy_n(numbers.begin() + weights.begin(row), count, list->weights.begin() + begin);
    } else if (!input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(
          row, input.place.error(row, absl::StrCat(count, " ids and ", given, " weights"))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureTransform::Values> FeatureTransform::run(const FeatureInput& input) const {
  const Column& column = input.column;
  Values values;
  values.list.rows = column.rows;
  // Integers stay integers until a step (or the feature) wants numbers.
  const bool first_takes_ids = !steps_.empty() && (steps_[0].has_hash() || steps_[0].has_modulo() ||
                                                   is_list_step(steps_[0]));
  values.are_ids =
      column.type == ValueType::kInt64 ||
      (column.type == ValueType::kUint64 && (first_takes_ids || (steps_.empty() && wants_ids_)));
  if (values.are_ids) {
    values.list.values = input.owned != nullptr ? std::move(input.owned->int64s) : column.int64s;
  } else if (column.type != ValueType::kString) {
    if (input.owned != nullptr && column.type == ValueType::kDouble) {
      values.numbers = std::move(input.owned->doubles);
    } else {
      fill_numbers(column, &values.numbers);
    }
    RETURN_IF_ERROR(refuse_non_finite(input, column, "", &values.numbers));
  }
  if (input.weights != nullptr) {
    values.list.values.resize(column.values());
    RETURN_IF_ERROR(take_weights(input, &values.list));
  }
  values.list.offsets = input.owned != nullptr ? std::move(input.owned->offsets) : column.offsets;
  for (size_t step = 0; step < steps_.size(); ++step) {
    if (steps_[step].has_cast()) {
      RETURN_IF_ERROR(apply_cast(input, &values));
    } else {
      apply(step, input, &values);
    }
  }
  return values;
}

absl::Status FeatureTransform::append_ids(const FeatureInput& input, IdColumn* out) const {
  ASSIGN_OR_RETURN(Values values, run(input));
  IdColumn& list = values.list;
  const bool may_be_empty = !list.offsets.empty() && has_default_;
  if (out->rows == 0 && !may_be_empty) {  // the first unit, often the only one
    *out = std::move(list);
    return absl::OkStatus();
  }
  if (list.offsets.empty() && out->offsets.empty()) {
    out->rows += list.rows;
    append_lists(list, out);
    return absl::OkStatus();
  }
  make_jagged(out);
  out->rows += list.rows;
  if (!has_default_) {
    const int64_t before = out->offsets.back();
    for (int64_t row = 0; row < list.rows; ++row) out->offsets.push_back(before + list.end(row));
    append_lists(list, out);
    return absl::OkStatus();
  }
  const bool weighted = !list.weights.empty() || !out->weights.empty();
  if (weighted) out->weights.resize(out->values.size(), 1);
  for (int64_t row = 0; row < list.rows; ++row) {
    const int64_t begin = list.begin(row), end = list.end(row);
    if (begin == end) out->values.push_back(default_id_);
    out->values.insert(out->values.end(), list.values.begin() + begin, list.values.begin() + end);
    if (!list.weights.empty()) {
      out->weights.insert(out->weights.end(), list.weights.begin() + begin,
                          list.weights.begin() + end);
    }
    if (weighted) out->weights.resize(out->values.size(), 1);
    out->offsets.push_back(static_cast<int64_t>(out->values.size()));
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::append_single_ids(const FeatureInput& input,
                                                 std::vector<int64_t>* out) const {
  IdColumn ids;
  RETURN_IF_ERROR(append_ids(input, &ids));
  for (int64_t row = 0; row < ids.rows; ++row) {
    const int64_t count = ids.end(row) - ids.begin(row);
    if (count != 1 && !input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(
          row,
          input.place.error(row, count == 0 ? "no value, and the feature has no default_id"
                                            : absl::StrCat(count, " values where one is due"))));
    }
    out->push_back(count == 0 ? 0 : ids.values[ids.begin(row)]);
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::append_number(const FeatureInput& input, int64_t row, int64_t count,
                                             double value, float* out) const {
  *out = static_cast<float>(value);
  if (input.bad.contains(row)) return absl::OkStatus();
  std::string wrong;
  if (count > 1) {
    wrong = absl::StrCat(count, " values where one is due");
  } else if (count == 0 && !has_default_) {
    wrong = "no value, and the feature has no default_value";
  } else if (std::abs(value) > std::numeric_limits<float>::max()) {
    wrong = absl::StrCat(value, " does not fit a 32-bit float");
  } else if (!in_range(labels_, value)) {
    wrong = absl::StrCat("label ", value, " ", outside_text(labels_));
  }
  if (wrong.empty()) return absl::OkStatus();
  *out = 0;
  return input.bad.add(row, input.place.error(row, wrong));
}

absl::Status FeatureTransform::append_numbers(const FeatureInput& input,
                                              std::vector<float>* out) const {
  ASSIGN_OR_RETURN(Values values, run(input));
  const IdColumn& list = values.list;
  std::vector<double>& numbers = values.numbers;
  if (values.are_ids) numbers.assign(list.values.begin(), list.values.end());
  numbers.push_back(0);  // read, and not used, where the last rows have no value
  const size_t before = out->size();
  out->resize(before + list.rows);
  float* const next = out->data() + before;
  bool odd = false;  // whether a row has to be looked at
  auto put = [&](int64_t row, int64_t count, double value) {
    next[row] = static_cast<float>(value);
    odd |= count > 1 || (count == 0 && !has_default_);
    odd |= !(std::abs(value) <= std::numeric_limits<float>::max());
    odd |= !in_range(labels_, value);
  };
  auto value_of = [&](int64_t row) {
    return list.begin(row) == list.end(row) ? default_number_ : numbers[list.begin(row)];
  };
  if (list.offsets.empty()) {
    for (int64_t row = 0; row < list.rows; ++row) put(row, 1, numbers[row]);
  } else {
    for (int64_t row = 0; row < list.rows; ++row) {
      put(row, list.end(row) - list.begin(row), value_of(row));
    }
  }
  for (int64_t row = 0; odd && row < list.rows; ++row) {
    const int64_t count = list.end(row) - list.begin(row);
    RETURN_IF_ERROR(append_number(input, row, count, value_of(row), next + row));
  }
  return absl::OkStatus();
}

}  // namespace millrace
