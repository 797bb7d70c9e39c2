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

// Modified during static initialization only.
std::vector<std::pair<const unsigned char*, size_t>>& registered() {
  static auto* registered = new std::vector<std::pair<const unsigned char*, size_t>>;
  return *registered;
}

// Returns a pool of all registered files, with their source information.
const DescriptorPool& documented_pool() {
  static const DescriptorPool* pool = [] {
    auto* database = new google::protobuf::SimpleDescriptorDatabase;
    // proto/field_rules.proto imports the file of protobuf itself, which is not registered.
    google::protobuf::FileDescriptorProto own;
    google::protobuf::FileDescriptorProto::descriptor()->file()->CopyTo(&own);
    database->Add(own);
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

}  // namespace millrace
