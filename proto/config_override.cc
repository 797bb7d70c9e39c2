// Implementation of apply_override of config_reader.h.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/config_reader.h"
#include "proto/text_error.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A segment of a path: `name` or `[extension]`, optionally with an index.
struct Segment {
  std::string name;
  bool is_extension = false;
  std::optional<int> index;
  std::string text;  // as written, for messages
};

absl::Status bad_path(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// Removes "[...]" from the front of `rest` and returns the text between the brackets.
absl::StatusOr<std::string> take_brackets(absl::string_view path, absl::string_view* rest) {
  const size_t end = rest->find(']');
  if (end == absl::string_view::npos) return bad_path(path, "a bracket is not closed");
  std::string inside(rest->substr(1, end - 1));
  rest->remove_prefix(end + 1);
  return inside;
}

absl::StatusOr<Segment> take_segment(absl::string_view path, absl::string_view* rest) {
  const absl::string_view start = *rest;
  Segment segment;
  // The name of an extension contains dots, so brackets enclose it.
  if (!rest->empty() && rest->front() == '[') {
    segment.is_extension = true;
    ASSIGN_OR_RETURN(segment.name, take_brackets(path, rest));
  } else {
    const size_t end = std::min(rest->find_first_of(".["), rest->size());
    segment.name = std::string(rest->substr(0, end));
    rest->remove_prefix(end);
  }
  if (segment.name.empty()) return bad_path(path, "a name is missing");
  if (!rest->empty() && rest->front() == '[') {
    ASSIGN_OR_RETURN(const std::string index, take_brackets(path, rest));
    int value = 0;
    if (!absl::SimpleAtoi(index, &value) || value < 0) {
      return bad_path(path, absl::StrCat("[", index, "] is not an index; extensions are written ",
                                         segment.name, ".[", index, "]"));
    }
    segment.index = value;
  }
  segment.text = std::string(start.substr(0, start.size() - rest->size()));
  if (!rest->empty() && rest->front() != '.') return bad_path(path, "a dot is missing after ]");
  return segment;
}

absl::StatusOr<std::vector<Segment>> parse_path(absl::string_view path) {
  std::vector<Segment> segments;
  absl::string_view rest = path;
  while (true) {
    ASSIGN_OR_RETURN(Segment segment, take_segment(path, &rest));
    segments.push_back(std::move(segment));
    if (rest.empty()) return segments;
    rest.remove_prefix(1);
  }
}

absl::StatusOr<const FieldDescriptor*> find_field(absl::string_view path, const Segment& segment,
                                                  const Descriptor& message) {
  if (segment.is_extension) {
    const FieldDescriptor* field =
        DescriptorPool::generated_pool()->FindExtensionByName(segment.name);
    if (field != nullptr && field->containing_type() == &message) return field;
    return bad_path(path, unknown_extension(message, segment.name));
  }
  const FieldDescriptor* field = message.FindFieldByName(segment.name);
  if (field == nullptr) return bad_path(path, unknown_field(message, segment.name));
  return field;
}

absl::Status check_index(absl::string_view path, const Segment& segment,
                         const FieldDescriptor& field, const Message& parent) {
  if (!segment.index) return absl::OkStatus();
  if (!field.is_repeated()) return bad_path(path, absl::StrCat(segment.name, " is not a list"));
  const int size = parent.GetReflection()->FieldSize(parent, &field);
  if (*segment.index < size) return absl::OkStatus();
  return bad_path(path, absl::StrCat(segment.name, " has ", size, size == 1 ? " entry" : " entries",
                                     size == 0 ? "" : ", numbered from 0"));
}

// Returns the message that a segment names in `parent`. Creates the message if it is missing.
absl::StatusOr<Message*> enter(absl::string_view path, const Segment& segment, Message* parent) {
  ASSIGN_OR_RETURN(const FieldDescriptor* field,
                   find_field(path, segment, *parent->GetDescriptor()));
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return bad_path(path, absl::StrCat(segment.name, " is a value and has no fields"));
  }
  RETURN_IF_ERROR(check_index(path, segment, *field, *parent));
  const Reflection& reflection = *parent->GetReflection();
  if (!field->is_repeated()) return reflection.MutableMessage(parent, field);
  if (!segment.index) {
    return bad_path(
        path, absl::StrCat(segment.name, " is a list of ", reflection.FieldSize(*parent, field),
                           "; write ", segment.name, "[0] for its first entry"));
  }
  return reflection.MutableRepeatedMessage(parent, field, *segment.index);
}

// Returns "field: value" in text format. Quotes strings without quotes, except lists of strings.
std::string field_text(const Segment& segment, const FieldDescriptor& field,
                       absl::string_view value) {
  const bool is_list = field.is_repeated() && !segment.index && absl::StartsWith(value, "[");
  const bool quoted = absl::StartsWith(value, "\"") || absl::StartsWith(value, "'");
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const std::string name =
      segment.is_extension ? absl::StrCat("[", segment.name, "]") : segment.name;
  if (is_text && !quoted && !is_list) {
    return absl::StrCat(name, ": \"", absl::CEscape(value), "\"");
  }
  return absl::StrCat(name, ": ", value);
}

absl::Status assign(absl::string_view path, const Segment& segment, absl::string_view value,
                    Message* parent) {
  ASSIGN_OR_RETURN(const FieldDescriptor* field,
                   find_field(path, segment, *parent->GetDescriptor()));
  RETURN_IF_ERROR(check_index(path, segment, *field, *parent));
  const std::unique_ptr<Message> parsed(parent->New());
  if (const std::optional<TextError> error =
          parse_text_strictly(field_text(segment, *field, value), parsed.get())) {
    return bad_path(path, absl::StrCat("value ", value, ": ", error->what));
  }
  // A value such as `1 max_epochs: 2` must not set other fields.
  std::vector<const FieldDescriptor*> set;
  parsed->GetReflection()->ListFields(*parsed, &set);
  const bool is_one_value =
      !segment.index || parsed->GetReflection()->FieldSize(*parsed, field) == 1;
  if (set.size() > 1 || (set.size() == 1 && set[0] != field) || !is_one_value) {
    return bad_path(path, absl::StrCat("value ", value, ": not a single value"));
  }
  const Reflection& reflection = *parent->GetReflection();
  if (!segment.index) {
    reflection.ClearField(parent, field);
    parent->MergeFrom(*parsed);
    return absl::OkStatus();
  }
  parent->MergeFrom(*parsed);  // appends the new entry, which then replaces the old one
  reflection.SwapElements(parent, field, *segment.index, reflection.FieldSize(*parent, field) - 1);
  reflection.RemoveLast(parent, field);
  return absl::OkStatus();
}

}  // namespace

absl::Status apply_override(absl::string_view assignment, JobConfig* config) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", assignment, "\" is not of the form path.to.field=value"));
  }
  const absl::string_view path = absl::StripAsciiWhitespace(assignment.substr(0, equals));
  const absl::string_view value = absl::StripAsciiWhitespace(assignment.substr(equals + 1));
  ASSIGN_OR_RETURN(const std::vector<Segment> segments, parse_path(path));
  JobConfig changed = *config;
  Message* message = &changed;
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    ASSIGN_OR_RETURN(message, enter(path, segments[i], message));
  }
  RETURN_IF_ERROR(assign(path, segments.back(), value, message));
  config->Swap(&changed);
  return absl::OkStatus();
}

}  // namespace millrace
