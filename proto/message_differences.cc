#include "proto/message_differences.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/config_reader.h"
#include "proto/message_visit.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

std::string value_text(const Message& message, const FieldDescriptor& field, int index) {
  std::string text;
  TextFormat::PrintFieldValueToString(message, &field, index, &text);
  return text;
}

// Returns the default of a field in the format of value_text.
std::string default_text(const Message& message, const FieldDescriptor& field) {
  if (!field.has_default_value()) return "not set";
  std::unique_ptr<Message> empty(message.New());
  return value_text(*empty, field, -1);
}

// Returns true if the presence of a message makes a difference even if the message is empty.
bool presence_matters(const FieldDescriptor& field) {
  return field.is_repeated() || field.containing_oneof() != nullptr || absence_has_meaning(field);
}

// A field that is set.
struct Leaf {
  std::vector<int> order;  // numbers of fields and entries on the path: the order of the file
  std::string value;
  std::string without;  // value where the field is not set
};
using Leaves = std::map<std::string, Leaf>;

std::string field_name(const FieldDescriptor& field) {
  return field.is_extension() ? absl::StrCat("[", field.full_name(), "]") : field.name();
}

// Returns "[NAME]", or the index of an entry without a name.
std::string entry_name(const Message& entry, int index) {
  const FieldDescriptor* name = entry.GetDescriptor()->FindFieldByName("name");
  if (name == nullptr || !entry.GetReflection()->HasField(entry, name)) {
    return absl::StrCat("[", index, "]");
  }
  return absl::StrCat("[", entry.GetReflection()->GetString(entry, name), "]");
}

void collect(const Message& message, const std::string& path, const std::vector<int>& order,
             bool presence, Leaves* leaves) {
  const Reflection& reflection = *message.GetReflection();
  // The presence of a message may decide the result without any field in it.
  if (presence) leaves->try_emplace(path, Leaf{order, "there", "not there"});
  for (const FieldDescriptor* field : set_fields(message)) {
    const std::string place = absl::StrCat(path, path.empty() ? "" : ".", field_name(*field));
    std::vector<int> at = order;
    at.push_back(field->number());
    if (!field->is_repeated()) {
      if (is_message(*field)) {
        collect(reflection.GetMessage(message, field), place, at, presence_matters(*field), leaves);
      } else {
        (*leaves)[place] = {at, value_text(message, *field, -1), default_text(message, *field)};
      }
      continue;
    }
    at.push_back(0);
    // An entry without fields is still an entry, so its presence counts.
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      at.back() = i;
      if (is_message(*field)) {
        const Message& entry = reflection.GetRepeatedMessage(message, field, i);
        collect(entry, place + entry_name(entry, i), at, /*presence=*/true, leaves);
      } else {
        (*leaves)[absl::StrCat(place, "[", i, "]")] = {at, value_text(message, *field, i),
                                                       "not set"};
      }
    }
  }
}

// Returns true if `path` is within a message that one side lacks entirely, which one line reports.
bool within(const std::string& path, const std::vector<std::string>& missing) {
  return std::any_of(missing.begin(), missing.end(), [&](const std::string& outer) {
    return path.size() > outer.size() && path.compare(0, outer.size(), outer) == 0 &&
           (path[outer.size()] == '.' || path[outer.size()] == '[');
  });
}

}  // namespace

void clear_defaults(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : set_fields(message)) {
    if (is_message(*field)) {
      if (!field->is_repeated()) {
        Message& part = *reflection.MutableMessage(&message, field);
        clear_defaults(part);
        if (!presence_matters(*field) && part.ByteSizeLong() == 0) {
          reflection.ClearField(&message, field);
        }
      } else {
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          clear_defaults(*reflection.MutableRepeatedMessage(&message, field, i));
        }
      }
    } else if (!field->is_repeated() && field->has_default_value() &&
               value_text(message, *field, -1) == default_text(message, *field)) {
      reflection.ClearField(&message, field);
    }
  }
}

std::vector<std::string> message_differences(const Message& before, const Message& now) {
  Leaves old_leaves, new_leaves;
  collect(before, "", {}, /*presence=*/false, &old_leaves);
  collect(now, "", {}, /*presence=*/false, &new_leaves);
  std::map<std::pair<std::vector<int>, std::string>, std::string> lines;
  std::vector<std::string> missing;
  const auto add = [&](const std::string& path, const Leaf& leaf, const std::string& from,
                       const std::string& to) {
    if (from == to || within(path, missing)) return;
    lines.emplace(std::make_pair(leaf.order, path), absl::StrCat(path, ": ", from, " → ", to));
    if (leaf.without == "not there") missing.push_back(path);
  };
  for (const auto& [path, leaf] : old_leaves) {
    const auto other = new_leaves.find(path);
    add(path, leaf, leaf.value, other == new_leaves.end() ? leaf.without : other->second.value);
  }
  missing.clear();
  for (const auto& [path, leaf] : new_leaves) {
    if (old_leaves.count(path) == 0) add(path, leaf, leaf.without, leaf.value);
  }
  std::vector<std::string> result;
  for (auto& [key, line] : lines) result.push_back(std::move(line));
  return result;
}

}  // namespace millrace
