#include "proto/config_variables.h"

#include <google/protobuf/descriptor.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8/characters.h"
#include "proto/message_visit.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr absl::string_view kEnvironment = "${env:";
constexpr absl::string_view kSecret = "${secret:";

bool is_variable_name(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name.front())) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

bool holds_variable(absl::string_view text) {
  return absl::StrContains(text, kEnvironment) || absl::StrContains(text, kSecret);
}

// Returns the value of `variable`, the text between `prefix` and the closing brace.
absl::StatusOr<std::string> value_of(absl::string_view prefix, absl::string_view variable) {
  const size_t colon = prefix == kEnvironment ? variable.find(':') : absl::string_view::npos;
  const std::string name(variable.substr(0, colon));
  if (!is_variable_name(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        prefix, variable, "}: \"", name, "\" is no name of a variable; use letters, digits and _"));
  }
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr && colon != absl::string_view::npos) {
    return std::string(variable.substr(colon + 1));
  }
  if (value == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the environment variable ", name, " is not set; set it",
        prefix == kEnvironment ? absl::StrCat(", or write ${env:", name, ":DEFAULT}") : ""));
  }
  // Values of variables are written to text files, which are read again.
  if (!is_utf8(value) || holds_variable(value)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the value of the environment variable ", name,
        is_utf8(value) ? " holds ${env: or ${secret:" : " is not UTF-8", "; set another value"));
  }
  return std::string(value);
}

// Replaces each variable with `prefix` in `text`.
absl::Status replace_variables(absl::string_view prefix, std::string* text) {
  const auto next = [&](size_t at) { return text->find(prefix.data(), at, prefix.size()); };
  for (size_t at = next(0); at != std::string::npos; at = next(at)) {
    const size_t begin = at + prefix.size();
    const size_t end = text->find('}', begin);
    if (end == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(text->substr(at), " has no closing brace; write ", prefix, "NAME}"));
    }
    const absl::StatusOr<std::string> value =
        value_of(prefix, absl::string_view(*text).substr(begin, end - begin));
    if (!value.ok()) return value.status();
    text->replace(at, end + 1 - at, *value);
    at += value->size();
  }
  return absl::OkStatus();
}

absl::Status replace_in_message(absl::string_view prefix, const std::string& where,
                                Message* message) {
  const auto replace = [&](const std::string& place, const FieldDescriptor&, std::string* value) {
    return annotate(replace_variables(prefix, value), place);
  };
  return change_strings(where, replace, message);
}

// Clears the messages whose secrets are resolved where their part is made.
void clear_parts(Message* message) {
  const auto& reflection = *message->GetReflection();
  for (const FieldDescriptor* field : set_fields(*message)) {
    if (!is_message(*field)) continue;
    const auto* const type = field->message_type();
    if (type == CustomConfig::descriptor() || type == HookConfig::descriptor()) {
      reflection.ClearField(message, field);
    } else if (type == KafkaWindows::descriptor()) {
      static_cast<KafkaWindows*>(reflection.MutableMessage(message, field))->clear_option();
    } else if (!field->is_repeated()) {
      clear_parts(reflection.MutableMessage(message, field));
    } else {
      for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
        clear_parts(reflection.MutableRepeatedMessage(message, field, i));
      }
    }
  }
}

}  // namespace

absl::Status expand_environment(std::string* text) { return replace_variables(kEnvironment, text); }

absl::Status expand_environment(JobConfig* config) {
  return replace_in_message(kEnvironment, "", config);
}

absl::Status resolve_secrets(const std::string& where, Message* message) {
  return replace_in_message(kSecret, where, message);
}

absl::Status check_places_of_secrets(const JobConfig& config) {
  JobConfig copy = config;
  clear_parts(&copy);
  const auto check = [](const std::string& place, const FieldDescriptor&, std::string* value) {
    if (!absl::StrContains(*value, kSecret)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": ", *value,
                     " is written to checkpoints and logs; secrets are for options of hooks and "
                     "registered parts except models, other strings take ${env:NAME}"));
  };
  return change_strings("", check, &copy);
}

}  // namespace millrace
