#include "proto/documented_protos.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

constexpr size_t kCommentColumn = 44;
constexpr int kMaxDepth = 4;  // of nested messages

// Modified during static initialization only.
std::vector<std::pair<const unsigned char*, size_t>>& registered() {
  static auto* registered = new std::vector<std::pair<const unsigned char*, size_t>>;
  return *registered;
}

// Returns a pool of all registered files, with their source information.
const DescriptorPool& documented_pool() {
  static const DescriptorPool* pool = [] {
    auto* database = new google::protobuf::SimpleDescriptorDatabase;
    for (const auto& [bytes, size] : registered()) {
      google::protobuf::FileDescriptorSet set;
      if (!set.ParseFromArray(bytes, static_cast<int>(size))) continue;
      for (const google::protobuf::FileDescriptorProto& file : set.file()) database->Add(file);
    }
    return new DescriptorPool(database);
  }();
  return *pool;
}

std::string one_line(const std::string& comment) {
  std::vector<absl::string_view> lines = absl::StrSplit(comment, '\n');
  for (absl::string_view& line : lines) line = absl::StripAsciiWhitespace(line);
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  return absl::StrJoin(lines, " ");
}

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

bool register_documented_protos(const unsigned char* bytes, size_t size) {
  registered().emplace_back(bytes, size);
  return true;
}

std::string comment_of(const FieldDescriptor& field) {
  const FieldDescriptor* documented = field.is_extension()
                                          ? documented_pool().FindExtensionByName(field.full_name())
                                          : documented_pool().FindFieldByName(field.full_name());
  google::protobuf::SourceLocation location;
  if (documented == nullptr || !documented->GetSourceLocation(&location)) return "";
  return one_line(absl::StrCat(location.leading_comments, "\n", location.trailing_comments));
}

std::string first_sentence_of(const Descriptor& message) {
  const Descriptor* documented = documented_pool().FindMessageTypeByName(message.full_name());
  google::protobuf::SourceLocation location;
  if (documented == nullptr || !documented->GetSourceLocation(&location)) return "";
  const std::string comment = one_line(location.leading_comments);
  const size_t end = comment.find(". ");
  return end == std::string::npos ? comment : comment.substr(0, end + 1);
}

std::string describe_fields(const Descriptor& message) {
  std::string text;
  describe(message, 0, text);
  return text;
}

}  // namespace millrace
