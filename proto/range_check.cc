#include "proto/range_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/field_rules.pb.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr double kLargestFloat = std::numeric_limits<float>::max();
constexpr double kSmallestNormalFloat = std::numeric_limits<float>::min();
constexpr double kEndOfIntegers = 9223372036854775808.0;  // 2^63

bool is_floating(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

std::string bound_text(double bound) {
  const bool is_integer = std::trunc(bound) == bound && std::fabs(bound) < kEndOfIntegers;
  return is_integer ? absl::StrCat(static_cast<int64_t>(bound)) : absl::StrCat(bound);
}

std::string derived_text(const FieldRule& rule, bool floating) {
  if (rule.normal_float32()) return "a positive, normal number of float32";
  const bool has_lower = rule.has_at_least() || rule.has_above();
  const bool has_upper = rule.has_at_most() || rule.has_below();
  if (!has_lower && !has_upper) return "finite";
  if (rule.has_at_least() && rule.has_at_most()) {
    return absl::StrCat(bound_text(rule.at_least()), " to ", bound_text(rule.at_most()));
  }
  std::string text;
  if (rule.has_at_least()) text = "at least " + bound_text(rule.at_least());
  if (rule.has_above()) {
    text = (has_upper ? "above " : "greater than ") + bound_text(rule.above());
  }
  if (has_lower && has_upper) text += " and ";
  if (rule.has_at_most()) text += "at most " + bound_text(rule.at_most());
  if (rule.has_below()) text += "below " + bound_text(rule.below());
  return (has_lower && has_upper) || !floating ? text : text + " and finite";
}

std::string text_of(const FieldRule& rule, bool floating) {
  if (rule.has_text()) return rule.text();
  return (rule.or_zero() ? "0 or " : "") + derived_text(rule, floating);
}

// Number is the type of the field. Bounds are compared in long double, which holds every Number.
template <typename Number>
bool accepts(const FieldRule& rule, Number number) {
  const auto value = static_cast<long double>(number);
  if (rule.or_zero() && value == 0) return true;
  if (rule.normal_float32() && !(value >= kSmallestNormalFloat && value <= kLargestFloat)) {
    return false;
  }
  const double largest =
      rule.finite_in() == FieldRule::FLOAT32 ? kLargestFloat : std::numeric_limits<double>::max();
  // Comparisons with not-a-number are false.
  return std::fabs(value) <= largest && (!rule.has_at_least() || value >= rule.at_least()) &&
         (!rule.has_above() || value > rule.above()) &&
         (!rule.has_at_most() || value <= rule.at_most()) &&
         (!rule.has_below() || value < rule.below());
}

template <typename Number>
void check_number(absl::string_view where, const std::string& field, const FieldRule& rule,
                  Number value, FieldErrors* errors) {
  if (accepts(rule, value)) return;
  const std::string text = text_of(rule, std::is_floating_point_v<Number>);
  errors->add(wrong_number(where, field, value, text));
}

// Checks element `i` of a repeated field, or with -1 the value of a field.
void check_value(absl::string_view where, const Message& message, const FieldDescriptor* field,
                 int i, FieldErrors* errors) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  const FieldRule& rule = field->options().GetExtension(must_be);
  const std::string name = i < 0 ? field->name() : absl::StrCat(field->name(), "[", i, "]");
  const auto check = [&](auto value) { check_number(where, name, rule, value, errors); };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return check(i < 0 ? r.GetInt32(message, field) : r.GetRepeatedInt32(message, field, i));
    case FieldDescriptor::CPPTYPE_INT64:
      return check(i < 0 ? r.GetInt64(message, field) : r.GetRepeatedInt64(message, field, i));
    case FieldDescriptor::CPPTYPE_UINT32:
      return check(i < 0 ? r.GetUInt32(message, field) : r.GetRepeatedUInt32(message, field, i));
    case FieldDescriptor::CPPTYPE_UINT64:
      return check(i < 0 ? r.GetUInt64(message, field) : r.GetRepeatedUInt64(message, field, i));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return check(i < 0 ? r.GetFloat(message, field) : r.GetRepeatedFloat(message, field, i));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return check(i < 0 ? r.GetDouble(message, field) : r.GetRepeatedDouble(message, field, i));
    default: return errors->add(wrong(where, name + " has a rule, but is not a number"));
  }
}

void check_own(absl::string_view where, const Message& message, FieldErrors* errors) {
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(f);
    if (!field->options().HasExtension(must_be)) continue;
    if (field->is_repeated()) {
      const int size = message.GetReflection()->FieldSize(message, field);
      for (int i = 0; i < size; ++i) check_value(where, message, field, i, errors);
    } else if (field->has_default_value() || message.GetReflection()->HasField(message, field)) {
      check_value(where, message, field, -1, errors);
    }
  }
}

void check_all(absl::string_view where, const Message& message, FieldErrors* errors) {
  check_own(where, message, errors);
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (field->message_type() == nullptr || field->is_extension()) continue;
    const std::string place = absl::StrCat(where, ".", field->name());
    if (!field->is_repeated()) {
      check_all(place, reflection.GetMessage(message, field), errors);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      check_all(absl::StrCat(place, "[", i, "]"), reflection.GetRepeatedMessage(message, field, i),
                errors);
    }
  }
}

}  // namespace

absl::Status check_own_ranges(absl::string_view where, const Message& message) {
  FieldErrors errors;
  check_own(where, message, &errors);
  return errors.status();
}

absl::Status check_ranges(absl::string_view where, const Message& message) {
  FieldErrors errors;
  check_all(where, message, &errors);
  return errors.status();
}

absl::Status check_extension_ranges(absl::string_view where, const Message& message,
                                    absl::string_view name) {
  FieldErrors errors;
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_extension() || field->is_repeated() || field->message_type() == nullptr)
      continue;
    const std::string place = field->name() == name
                                  ? std::string(where)
                                  : absl::StrCat(where, ".[", field->full_name(), "]");
    check_all(place, message.GetReflection()->GetMessage(message, field), &errors);
  }
  return errors.status();
}

std::string range_text(const FieldDescriptor& field) {
  if (!field.options().HasExtension(must_be)) return "";
  return text_of(field.options().GetExtension(must_be), is_floating(field));
}

}  // namespace millrace
