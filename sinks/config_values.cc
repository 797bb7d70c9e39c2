#include "sinks/config_values.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinks/number_text.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Value = std::variant<int64_t, double, bool, std::string>;

struct PlacedValue {
  int lists = 0;  // of messages, that the field is in
  ConfigValue value;
};

// Returns a scalar field; `index`: of an element of a list, or -1.
Value scalar(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const auto get = [&](auto single, auto repeated) {
    return index < 0 ? (reflection.*single)(message, &field)
                     : (reflection.*repeated)(message, &field, index);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return int64_t{get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32)};
    case FieldDescriptor::CPPTYPE_INT64:
      return int64_t{get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64)};
    case FieldDescriptor::CPPTYPE_UINT32:
      return int64_t{get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32)};
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<int64_t>(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      // The written number: 0.1, not the nearest float32.
      return shortest_decimal(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::string(get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
    default: return get(&Reflection::GetString, &Reflection::GetRepeatedString);
  }
}

std::string list_text(const Message& message, const FieldDescriptor& field) {
  std::string text = "[";
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", to_text({"", scalar(message, field, i)}));
  }
  return text + "]";
}

void add_values(const Message& message, const std::string& path, int lists,
                std::vector<PlacedValue>& values) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string place = absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      Value value = field->is_repeated() ? list_text(message, *field) : scalar(message, *field, -1);
      values.push_back({lists, {place, std::move(value)}});
    } else if (!field->is_repeated()) {
      add_values(reflection.GetMessage(message, field), place, lists, values);
    } else {
      const int size = reflection.FieldSize(message, field);
      for (int i = 0; i < size; ++i) {
        add_values(reflection.GetRepeatedMessage(message, field, i), absl::StrCat(place, ".", i),
                   lists + 1, values);
      }
    }
  }
}

}  // namespace

std::vector<ConfigValue> config_values(const Message& message, size_t most) {
  std::vector<PlacedValue> placed;
  add_values(message, "", 0, placed);
  std::stable_sort(placed.begin(), placed.end(),
                   [](const PlacedValue& a, const PlacedValue& b) { return a.lists < b.lists; });
  if (placed.size() > most) placed.resize(most);
  std::vector<ConfigValue> values;
  for (PlacedValue& one : placed) values.push_back(std::move(one.value));
  return values;
}

std::string to_text(const ConfigValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value.value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value.value)) {
    return number_text(*number, {"nan", "inf", "-inf"});
  }
  if (const bool* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  return std::get<std::string>(value.value);
}

}  // namespace millrace
