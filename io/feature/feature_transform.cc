#include "io/feature/feature_transform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "io/column_rows.h"
#include "io/feature/feature_check.h"
#include "io/feature/value_types.h"
#include "io/transform/id_lists.h"
#include "io/transform/number_transforms.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

// Returns true if one of `numbers` is NaN or infinite. Checks exponents, so that the loop is
// vectorised.
bool has_non_finite(absl::Span<const double> numbers) {
  constexpr uint64_t kExponent = 0x7ff0000000000000ULL;
  uint64_t found = 0;
  for (const double x : numbers) {
    found |= (std::bit_cast<uint64_t>(x) & kExponent) == kExponent;
  }
  return found != 0;
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

constexpr char kMissingHint[] =
    "; if it stands for a missing value, put the transform missing_values first";

// Numbers for which `is_bad` is true become 0, their rows bad with what `text` says of the number.
template <typename IsBad, typename Text>
absl::Status refuse_numbers(const FeatureInput& input, absl::Span<const int64_t> offsets,
                            const IsBad& is_bad, const Text& text, std::vector<double>* numbers) {
  for (size_t i = 0; i < numbers->size(); ++i) {
    double& number = (*numbers)[i];
    if (!is_bad(number)) continue;
    const int64_t row = row_of_value(offsets, static_cast<int64_t>(i));
    if (!input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(row, input.place.error(row, text(number))));
    }
    number = 0;
  }
  return absl::OkStatus();
}

absl::Status refuse_non_finite(const FeatureInput& input, absl::Span<const int64_t> offsets,
                               absl::string_view what, std::vector<double>* numbers) {
  if (!has_non_finite(*numbers)) return absl::OkStatus();
  return refuse_numbers(
      input, offsets, [](double number) { return !std::isfinite(number); },
      [what](double number) {
        return absl::StrCat(what, number, " is not a finite number",
                            what.empty() ? kMissingHint : "");
      },
      numbers);
}

// Refuses ids that the type of the file may have rounded.
absl::Status refuse_rounded(const FeatureInput& input, std::vector<double>* numbers) {
  const double limit = input.column.exact_integers;
  if (limit >= kExactIntegers) return absl::OkStatus();
  return refuse_numbers(
      input, input.column.offsets, [limit](double number) { return !(std::abs(number) < limit); },
      [limit](double number) {
        return absl::StrFormat(
            "%.17g: the file stores the column in %s, which rounds ids of %.0f and more; write "
            "integers or text",
            number, limit == 0x1p24 ? "float32" : "float16", limit);
      },
      numbers);
}

// Returns what is wrong with the form of `count` values in `rows` rows, or "".
std::string wrong_form(const IdColumn& list, int64_t count, int64_t rows) {
  if (list.rows != rows) return absl::StrCat(list.rows, " rows of ", rows);
  if (!list.weights.empty() && static_cast<int64_t>(list.weights.size()) != count) {
    return absl::StrCat(list.weights.size(), " weights of ", count, " values");
  }
  const std::vector<int64_t>& offsets = list.offsets;
  if (offsets.empty()) {
    return count == rows ? "" : absl::StrCat(count, " values in ", rows, " rows without offsets");
  }
  if (static_cast<int64_t>(offsets.size()) != rows + 1) {
    return absl::StrCat(offsets.size(), " offsets of ", rows, " rows, instead of ", rows + 1);
  }
  if (offsets.front() != 0) return absl::StrCat("offsets from ", offsets.front(), " instead of 0");
  if (!std::is_sorted(offsets.begin(), offsets.end())) return "offsets that decrease";
  return offsets.back() == count
             ? ""
             : absl::StrCat("offsets up to ", offsets.back(), " of ", count, " values");
}

// Replaces not-a-number by 0 and returns where.
std::vector<size_t> take_nans(std::vector<double>* numbers) {
  std::vector<size_t> places;
  if (!has_non_finite(*numbers)) return places;
  for (size_t i = 0; i < numbers->size(); ++i) {
    if (!std::isnan((*numbers)[i])) continue;
    places.push_back(i);
    (*numbers)[i] = 0;
  }
  return places;
}

constexpr absl::string_view kNegativeWeight = "is below 0: examples count that many times";

// Describes the error of a label outside the range.
absl::string_view outside_text(LabelRange range) {
  if (range == LabelRange::kBinary) return "of a binary task is neither 0 nor 1";
  if (range == LabelRange::kNotNegative)
    return "is below 0, but the loss ranks by grades from 0 on";
  return "is outside [0, 1], but its loss takes probabilities; the transform threshold makes 0 and "
         "1 of other labels";
}

// Names a feature and its column in errors.
std::string source_of(const FeatureConfig& feature) {
  return absl::StrCat("feature \"", feature.name(), "\" from column \"", column_of(feature), "\"");
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

absl::StatusOr<FeatureTransform> FeatureTransform::create(const FeatureConfig& feature,
                                                          ValueType column, LabelRange labels,
                                                          FileSystem& files) {
  // prepare() reads files, so errors of the configuration come first.
  ASSIGN_OR_RETURN(FeatureTransform transform, fit(feature, column, labels));
  for (const Step& step : transform.steps_) {
    RETURN_IF_ERROR(step.transform->prepare(files), source_of(feature));
  }
  return transform;
}

absl::StatusOr<FeatureTransform> FeatureTransform::fit(const FeatureConfig& feature,
                                                       ValueType column, LabelRange labels) {
  RETURN_IF_ERROR(check_feature(absl::StrCat("feature \"", feature.name(), "\""), feature));
  FeatureTransform transform;
  transform.wants_ids_ = is_id_kind(feature.kind());
  transform.is_weight_ = feature.kind() == FeatureConfig::WEIGHT;
  transform.range_ = feature.kind() == FeatureConfig::LABEL ? labels
                     : transform.is_weight_                 ? LabelRange::kNotNegative
                                                            : LabelRange::kAny;
  transform.has_default_ =
      transform.wants_ids_ ? feature.has_default_id() : feature.has_default_value();
  transform.default_id_ = feature.default_id();
  transform.default_number_ = feature.default_value();
  // Losses and metrics omit examples whose label is not-a-number.
  if (feature.missing() == FeatureConfig::MASK) {
    transform.masks_ = transform.has_default_ = true;
    transform.default_number_ = std::numeric_limits<double>::quiet_NaN();
  }
  const std::string what = source_of(feature);
  RETURN_IF_ERROR(transform.check_default(), what);
  ASSIGN_OR_RETURN(Steps steps, transform.create_steps(feature), what);
  RETURN_IF_ERROR(transform.fit_to_column(feature, column, steps), what);
  transform.steps_ = std::move(steps);
  return transform;
}

absl::StatusOr<FeatureTransform> FeatureTransform::create_is_missing(const FeatureConfig& feature,
                                                                     ValueType column) {
  ASSIGN_OR_RETURN(FeatureTransform own, fit(feature, column, LabelRange::kAny));
  FeatureTransform transform;
  transform.reads_as_ = own.reads_as_;
  transform.missing_values_ = std::move(own.missing_values_);
  transform.steps_.emplace_back().transform = make_is_missing_transform();
  return transform;
}

absl::Status FeatureTransform::check_default() const {
  if (wants_ids_ || !has_default_ || masks_) return absl::OkStatus();
  if (!std::isfinite(static_cast<float>(default_number_))) {
    return absl::InvalidArgumentError("default_value must be a finite 32-bit number");
  }
  if (!in_range(range_, default_number_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("default_value ", default_number_, " ",
                     is_weight_ ? kNegativeWeight : outside_text(range_)));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureTransform::Steps> FeatureTransform::create_steps(
    const FeatureConfig& feature) {
  Steps steps;
  size_t crosses = 0;
  for (const TransformConfig& config : feature.transform()) {
    if (config.has_missing_values()) continue;  // it is applied to the column
    // Casts at the beginning change nothing in a column of integers.
    if (config.has_cast() && steps.size() == leading_casts_) ++leading_casts_;
    Step& step = steps.emplace_back();
    ASSIGN_OR_RETURN(step.transform, create_transform(config, crosses));
    step.name = transform_registry().kind(config);
    if (steps.size() == 1) distinguishes_text_ = step.transform->distinguishes_text();
    if (config.has_custom()) {
      step.checked_as = absl::StrCat("feature \"", feature.name(), "\", transform \"",
                                     config.custom().name(), "\"");
    }
    crosses += config.has_cross() ? 1 : 0;
  }
  return steps;
}

absl::StatusOr<ValueType> FeatureTransform::set_reads_as(const FeatureConfig& feature,
                                                         ValueType column, const Steps& steps) {
  MissingValuesTransform missing;
  const bool removes = feature.transform_size() > 0 && feature.transform(0).has_missing_values();
  if (removes) missing = feature.transform(0).missing_values();
  const bool is_text = column == ValueType::kText;
  ValueType taken = column;
  if (is_text && steps.empty()) taken = wants_ids_ ? ValueType::kInt64 : ValueType::kDouble;
  if (is_text && !steps.empty()) taken = type_for_text(steps[0].transform->takes());
  reads_as_ = taken;
  // is_missing finds the same cells of delimited text as a feature of numbers does.
  const int first = removes ? 1 : 0;
  const bool is_missing =
      feature.transform_size() > first && feature.transform(first).has_is_missing();
  if (is_text && is_missing && (missing.number_size() > 0 || missing.nan())) {
    taken = ValueType::kDouble;
  }
  if (!removes && !(is_text && is_missing)) return taken;
  ASSIGN_OR_RETURN(
      missing_values_,
      MissingValues::create(
          missing, {.column = column,
                    .gives = taken,
                    .ignores_blanks = is_text && (taken != ValueType::kString || is_missing)}));
  reads_as_ = missing_values_->reads_as();
  return taken;
}

absl::Status FeatureTransform::check_steps(const FeatureConfig& feature, ValueType type,
                                           Steps& steps) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    const Transform::Takes takes = step.transform->takes();
    if (i > 0) {
      steps[i - 1].must_give_ids = !steps[i - 1].gives_text &&
                                   takes != Transform::Takes::kNumbers &&
                                   takes != Transform::Takes::kAny;
    }
    ASSIGN_OR_RETURN(type, type_after(*step.transform, step.name, type));
    step.gives_text = type == ValueType::kString;
  }
  RETURN_IF_ERROR(check_result_type(feature.kind(), type));
  if (!steps.empty()) steps.back().must_give_ids = wants_ids_;
  return absl::OkStatus();
}

absl::Status FeatureTransform::fit_to_column(const FeatureConfig& feature, ValueType column,
                                             Steps& steps) {
  ASSIGN_OR_RETURN(const ValueType taken, set_reads_as(feature, column, steps));
  if (!is_number(column)) return check_steps(feature, taken, steps);
  // Other files, also of later windows, may have another type of number.
  if (check_steps(feature, ValueType::kDouble, steps).ok()) return absl::OkStatus();
  const bool is_double = column == ValueType::kDouble;
  RETURN_IF_ERROR(check_steps(feature, is_double ? ValueType::kInt64 : column, steps));
  cast_ = make_cast_transform();
  return absl::OkStatus();
}

absl::Status FeatureTransform::take_weights(const FeatureInput& input, IdColumn* list) const {
  const Column& weights = *input.weights;
  std::vector<double> numbers;
  fill_numbers(weights, &numbers);
  RETURN_IF_ERROR(refuse_non_finite(input, weights.offsets, "weight ", &numbers));
  RETURN_IF_ERROR(refuse_numbers(
      input, weights.offsets,
      [](double number) { return !(std::abs(number) <= std::numeric_limits<float>::max()); },
      [](double number) { return absl::StrCat("weight ", number, " does not fit a 32-bit float"); },
      &numbers));
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

absl::StatusOr<FeatureValues> FeatureTransform::run(const FeatureInput& input,
                                                    std::vector<size_t>* missing) const {
  if (!missing_values_.has_value()) return run_steps(input, missing);
  ASSIGN_OR_RETURN(MissingValues::Kept kept, missing_values_->apply(input));
  kept.column.exact_integers = input.column.exact_integers;
  return run_steps({.column = kept.column,
                    .place = input.place,
                    .bad = input.bad,
                    .weights = input.weights == nullptr ? nullptr : &kept.weights,
                    .crossed = input.crossed,
                    .owned = &kept.column},
                   missing);
}

absl::StatusOr<FeatureValues> FeatureTransform::run_steps(const FeatureInput& input,
                                                          std::vector<size_t>* missing) const {
  const Column& column = input.column;
  FeatureValues values;
  values.list.rows = column.rows;
  absl::Span<const Step> steps = steps_;
  if (is_integer(column.type)) steps.remove_prefix(leading_casts_);
  // Integers stay integers until a step (or the feature) wants numbers.
  const bool first_takes_ids =
      !steps.empty() && steps[0].transform->takes() != Transform::Takes::kNumbers;
  values.are_ids =
      column.type == ValueType::kInt64 ||
      (column.type == ValueType::kUint64 && (first_takes_ids || (steps.empty() && wants_ids_)));
  if (values.are_ids) {
    values.list.values = input.owned != nullptr ? std::move(input.owned->int64s) : column.int64s;
  } else if (column.type != ValueType::kString) {
    if (input.owned != nullptr && column.type == ValueType::kDouble) {
      values.numbers = std::move(input.owned->doubles);
    } else {
      fill_numbers(column, &values.numbers);
    }
    if (missing != nullptr) *missing = take_nans(&values.numbers);
    RETURN_IF_ERROR(refuse_non_finite(input, column.offsets, "", &values.numbers));
    if (cast_ != nullptr || (leading_casts_ > 0 && wants_ids_)) {
      RETURN_IF_ERROR(refuse_rounded(input, &values.numbers));
    }
  }
  if (input.weights != nullptr) {
    values.list.values.resize(column.values());
    RETURN_IF_ERROR(take_weights(input, &values.list));
  }
  // Texts stay in the column, with their offsets.
  const bool moves = input.owned != nullptr && column.type != ValueType::kString;
  values.list.offsets = moves ? std::move(input.owned->offsets) : column.offsets;
  absl::Span<const size_t> missing_places;
  if (missing != nullptr) missing_places = *missing;
  if (cast_ != nullptr && column.type == ValueType::kDouble) {
    RETURN_IF_ERROR(cast_->apply(input, &values));
  }
  RETURN_IF_ERROR(apply_steps(steps, input, missing_places, &values));
  return values;
}

// Later code relies on the form: it reads as many values as the offsets say.
absl::Status FeatureTransform::check_form(const Step& step, const Column& column,
                                          const FeatureValues& values) {
  const auto count =
      static_cast<int64_t>(values.are_ids ? values.list.values.size() : values.numbers.size());
  std::string wrong =
      wrong_form(values.list, step.gives_text ? column.values() : count, column.rows);
  if (wrong.empty() && step.must_give_ids && !values.are_ids) wrong = "numbers instead of integers";
  if (wrong.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(step.checked_as, ": its result has ", wrong,
                                          "; this is an error of the transform"));
}

absl::Status FeatureTransform::apply_steps(absl::Span<const Step> steps, const FeatureInput& input,
                                           absl::Span<const size_t> missing,
                                           FeatureValues* values) {
  const auto count = [&] {
    return values->are_ids ? values->list.values.size() : values->numbers.size();
  };
  for (const Step& step : steps) {
    const size_t before = count();
    RETURN_IF_ERROR(step.transform->apply(input, values));
    if (step.checked_as.empty()) continue;
    if (!missing.empty() && count() != before) {
      return absl::InvalidArgumentError(absl::StrCat(
          step.checked_as, " changes the number of values; missing: MASK needs one that keeps it"));
    }
    RETURN_IF_ERROR(check_form(step, input.column, *values));
    if (values->are_ids) continue;
    // The results of missing numbers are not used, and may be anything.
    for (const size_t place : missing) values->numbers[place] = 0;
    RETURN_IF_ERROR(refuse_non_finite(
        input, values->list.offsets, absl::StrCat(step.checked_as, ": result "), &values->numbers));
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::append_ids(const FeatureInput& input, IdColumn* out) const {
  ASSIGN_OR_RETURN(FeatureValues values, run(input));
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
    wrong = "no value, and the feature has no default_value (of a label, missing: MASK)";
  } else if (std::abs(value) > std::numeric_limits<float>::max()) {
    wrong = absl::StrCat(value, " does not fit a 32-bit float");
  } else if (masks_ && std::isnan(value)) {
    return absl::OkStatus();
  } else if (!in_range(range_, value)) {
    wrong = is_weight_ ? absl::StrCat("weight ", value, " ", kNegativeWeight)
                       : absl::StrCat("label ", value, " ", outside_text(range_));
  }
  if (wrong.empty()) return absl::OkStatus();
  *out = 0;
  return input.bad.add(row, input.place.error(row, wrong));
}

absl::Status FeatureTransform::append_numbers(const FeatureInput& input,
                                              std::vector<float>* out) const {
  std::vector<size_t> missing;
  ASSIGN_OR_RETURN(FeatureValues values, run(input, masks_ ? &missing : nullptr));
  const IdColumn& list = values.list;
  std::vector<double>& numbers = values.numbers;
  if (values.are_ids) numbers.assign(list.values.begin(), list.values.end());
  for (const size_t place : missing) numbers[place] = std::numeric_limits<double>::quiet_NaN();
  numbers.push_back(0);  // read, and not used, where the last rows have no value
  const size_t before = out->size();
  out->resize(before + list.rows);
  float* const next = out->data() + before;
  bool odd = false;  // whether a row has to be looked at
  auto put = [&](int64_t row, int64_t count, double value) {
    next[row] = static_cast<float>(value);
    odd |= count > 1 || (count == 0 && !has_default_);
    odd |= !(std::abs(value) <= std::numeric_limits<float>::max());
    odd |= !in_range(range_, value);
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
