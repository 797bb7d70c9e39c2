#include "proto/field_description.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/documented_protos.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kCommentColumn = 44;
constexpr int kMaxDepth = 4;  // of nested messages

std::string default_of(const FieldDescriptor& field) {
  if (field.is_repeated() || field.message_type() != nullptr) return "";
  if (field.enum_type() != nullptr) {
    return absl::StrCat(" = ", field.default_value_enum()->name());
  }
  if (!field.has_default_value()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return absl::StrCat(" = ", field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64: return absl::StrCat(" = ", field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32: return absl::StrCat(" = ", field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64: return absl::StrCat(" = ", field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_FLOAT: return absl::StrCat(" = ", field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE: return absl::StrCat(" = ", field.default_value_double());
    case FieldDescriptor::CPPTYPE_BOOL: return field.default_value_bool() ? " = true" : " = false";
    default: return absl::StrCat(" = \"", field.default_value_string(), "\"");
  }
}

std::string type_of(const FieldDescriptor& field) {
  std::string type = field.is_repeated() ? "repeated " : "";
  if (field.message_type() != nullptr) return type + field.message_type()->name();
  if (field.enum_type() == nullptr) return type + field.type_name();
  std::vector<std::string> values;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    values.push_back(field.enum_type()->value(i)->name());
  }
  return type + absl::StrJoin(values, "|");
}

void describe(const Descriptor& message, int depth, std::string& text) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    std::string line = absl::StrCat(std::string(2 * depth, ' '), field.name(), "  ", type_of(field),
                                    default_of(field));
    const std::string range = range_text(field);
    if (!range.empty()) absl::StrAppend(&line, " [", range, "]");
    const std::string comment = comment_of(field);
    if (!comment.empty()) {
      line.resize(std::max(line.size() + 2, kCommentColumn), ' ');
      line += comment;
    }
    absl::StrAppend(&text, line, "\n");
    if (field.message_type() != nullptr && depth + 1 < kMaxDepth) {
      describe(*field.message_type(), depth + 1, text);
    }
  }
}

}  // namespace

std::string describe_fields(const Descriptor& message) {
  std::string text;
  describe(message, 0, text);
  return text;
}

}  // namespace millrace
