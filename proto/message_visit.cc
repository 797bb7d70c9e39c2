#include "proto/message_visit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string place_of(const std::string& where, const FieldDescriptor& field) {
  const std::string name =
      field.is_extension() ? absl::StrCat("[", field.full_name(), "]") : field.name();
  return where.empty() ? name : absl::StrCat(where, ".", name);
}

// Calls `change` with the strings of `message` itself.
absl::Status change_own_strings(const std::string& where, const StringChange& change,
                                Message* message) {
  const Reflection& reflection = *message->GetReflection();
  for (const FieldDescriptor* field : set_fields(*message)) {
    if (field->type() != FieldDescriptor::TYPE_STRING) continue;
    const std::string place = place_of(where, *field);
    if (!field->is_repeated()) {
      std::string value = reflection.GetString(*message, field);
      RETURN_IF_ERROR(change(place, *field, &value));
      reflection.SetString(message, field, std::move(value));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      std::string value = reflection.GetRepeatedString(*message, field, i);
      RETURN_IF_ERROR(change(absl::StrCat(place, "[", i, "]"), *field, &value));
      reflection.SetRepeatedString(message, field, i, std::move(value));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool is_message(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

std::vector<const FieldDescriptor*> set_fields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

absl::Status visit_messages(const std::string& where, const MessageVisitor& visit,
                            Message* message) {
  RETURN_IF_ERROR(visit(where, message));
  const Reflection& reflection = *message->GetReflection();
  for (const FieldDescriptor* field : set_fields(*message)) {
    if (!is_message(*field)) continue;
    const std::string place = place_of(where, *field);
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(visit_messages(place, visit, reflection.MutableMessage(message, field)));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      RETURN_IF_ERROR(visit_messages(absl::StrCat(place, "[", i, "]"), visit,
                                     reflection.MutableRepeatedMessage(message, field, i)));
    }
  }
  return absl::OkStatus();
}

absl::Status change_strings(const std::string& where, const StringChange& change,
                            Message* message) {
  const auto visit = [&change](const std::string& place, Message* part) {
    return change_own_strings(place, change, part);
  };
  return visit_messages(where, visit, message);
}

}  // namespace millrace
