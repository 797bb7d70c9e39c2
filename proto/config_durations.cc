#include "proto/config_durations.h"

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/message_visit.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::StatusOr<absl::Duration> duration_of(const std::string& place, const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    return wrong(
        place, absl::StrCat("\"", text, "\" is no duration; write one such as 90s, 1.5h or 2h30m"));
  }
  if (duration >= absl::ZeroDuration() && duration < absl::InfiniteDuration()) return duration;
  return wrong(place, absl::StrCat("\"", text, "\" is ",
                                   duration < absl::ZeroDuration() ? "negative" : "too long",
                                   "; give a time of 0 or more"));
}

// Replaces NAME_duration, a field of `message` that is set, by NAME_seconds.
absl::Status use_duration(const std::string& where, const FieldDescriptor& field,
                          const FieldDescriptor& seconds, Message* message) {
  const auto& reflection = *message->GetReflection();
  const std::string place = absl::StrCat(where, ".", field.name());
  if (reflection.HasField(*message, &seconds)) {
    return wrong(place, absl::StrCat(seconds.name(), " is set, too; remove one of them"));
  }
  ASSIGN_OR_RETURN(const absl::Duration duration,
                   duration_of(place, reflection.GetString(*message, &field)));
  reflection.SetDouble(message, &seconds, absl::ToDoubleSeconds(duration));
  reflection.ClearField(message, &field);
  return absl::OkStatus();
}

}  // namespace

absl::Status use_durations(const std::string& where, Message* message) {
  const auto visit = [](const std::string& where, Message* message) -> absl::Status {
    for (const FieldDescriptor* field : set_fields(*message)) {
      absl::string_view name = field->name();
      if (field->type() != FieldDescriptor::TYPE_STRING || field->is_repeated()) continue;
      if (!absl::ConsumeSuffix(&name, "_duration")) continue;
      const FieldDescriptor* const seconds =
          message->GetDescriptor()->FindFieldByName(absl::StrCat(name, "_seconds"));
      if (seconds == nullptr || seconds->type() != FieldDescriptor::TYPE_DOUBLE) continue;
      RETURN_IF_ERROR(use_duration(where, *field, *seconds, message));
    }
    return absl::OkStatus();
  };
  return visit_messages(where, visit, message);
}

}  // namespace millrace
