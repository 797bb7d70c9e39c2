#include "config/custom_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "absl/strings/str_cat.h"
#include "proto/custom.pb.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void check_extensions(const std::string& where, const CustomConfig& config, FieldErrors* errors) {
  for (const FieldDescriptor* field : extensions_of_others(config, config.name())) {
    errors->add(wrong(where, absl::StrCat("[", field->full_name(), "] is not the message of \"",
                                          config.name(), "\", whose extension has its name")));
  }
  errors->add(check_extension_ranges(where, config, config.name()));
}

void check(const std::string& where, const Message& message, FieldErrors* errors) {
  if (message.GetDescriptor() == CustomConfig::descriptor()) {
    check_extensions(where, static_cast<const CustomConfig&>(message), errors);
    return;
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr || field->is_extension()) continue;
    const std::string place = absl::StrCat(where, ".", field->name());
    if (!field->is_repeated()) {
      check(place, message.GetReflection()->GetMessage(message, field), errors);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      check(absl::StrCat(place, "[", i, "]"),
            message.GetReflection()->GetRepeatedMessage(message, field, i), errors);
    }
  }
}

}  // namespace

std::vector<const FieldDescriptor*> extensions_of_others(const Message& message,
                                                         absl::string_view name) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::erase_if(fields, [&](const FieldDescriptor* field) {
    return !field->is_extension() || field->name() == name;
  });
  return fields;
}

absl::Status check_custom_messages(const std::string& where, const Message& message) {
  FieldErrors errors;
  check(where, message, &errors);
  return errors.status();
}

}  // namespace millrace
