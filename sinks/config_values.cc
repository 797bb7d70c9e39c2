#include "sinks/config_values.h"

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinks/number_text.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Returns element `index` of a repeated field, or the value of another one.
std::variant<double, bool, std::string> value_of(const Message& message,
                                                 const FieldDescriptor& field, int index) {
  const Reflection& all = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? all.GetRepeatedBool(message, &field, index) : all.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? all.GetRepeatedDouble(message, &field, index)
                      : all.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<double>(repeated ? all.GetRepeatedFloat(message, &field, index)
                                          : all.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return static_cast<double>(repeated ? all.GetRepeatedInt32(message, &field, index)
                                          : all.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(repeated ? all.GetRepeatedInt64(message, &field, index)
                                          : all.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return static_cast<double>(repeated ? all.GetRepeatedUInt32(message, &field, index)
                                          : all.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(repeated ? all.GetRepeatedUInt64(message, &field, index)
                                          : all.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::string(
          (repeated ? all.GetRepeatedEnum(message, &field, index) : all.GetEnum(message, &field))
              ->name());
    default:
      return repeated ? all.GetRepeatedString(message, &field, index)
                      : all.GetString(message, &field);
  }
}

void add_values(const Message& message, const std::string& path, std::vector<ConfigValue>& values) {
  const Reflection& all = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  all.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_extension()) continue;
    const std::string name =
        path.empty() ? std::string(field->name()) : absl::StrCat(path, ".", field->name());
    const int elements = field->is_repeated() ? all.FieldSize(message, field) : 1;
    for (int i = 0; i < elements; ++i) {
      const std::string place = field->is_repeated() ? absl::StrCat(name, "[", i, "]") : name;
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        values.push_back({place, value_of(message, *field, i)});
      } else {
        add_values(field->is_repeated() ? all.GetRepeatedMessage(message, field, i)
                                        : all.GetMessage(message, field),
                   place, values);
      }
    }
  }
}

}  // namespace

std::vector<ConfigValue> config_values(const Message& message, absl::string_view path) {
  std::vector<ConfigValue> values;
  add_values(message, std::string(path), values);
  return values;
}

std::string to_text(const ConfigValue& value) {
  if (const double* number = std::get_if<double>(&value.value))
    return number_text(*number, {"nan", "inf", "-inf"});
  if (const bool* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  return std::get<std::string>(value.value);
}

}  // namespace millrace
