#include "plugin/plugin_messages.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/generated_message_reflection.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "plugin/bad_plugin.h"

namespace millrace {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::internal::DescriptorTable;

std::string join(absl::string_view scope, absl::string_view name) {
  return scope.empty() ? std::string(name) : absl::StrCat(scope, ".", name);
}

// Reads the part of the plugin's DescriptorTable in the file. Plugin and program have the same
// protobuf.
absl::StatusOr<FileDescriptorProto> read_description(const ElfFile& elf, uint64_t table) {
  int size = 0;
  ASSIGN_OR_RETURN(const absl::string_view stored,
                   elf.bytes_at(table + offsetof(DescriptorTable, size), sizeof(size)));
  std::memcpy(&size, stored.data(), sizeof(size));
  ASSIGN_OR_RETURN(const uint64_t at,
                   elf.pointer_at(table + offsetof(DescriptorTable, descriptor)));
  if (size <= 0) return bad_plugin("it has ", size, " bytes");
  ASSIGN_OR_RETURN(const absl::string_view bytes, elf.bytes_at(at, size));
  FileDescriptorProto file;
  if (!file.ParseFromArray(bytes.data(), size)) return bad_plugin("it is damaged");
  return file;
}

// Compares names and numbers of the files of a plugin with the process.
class MessageCheck {
 public:
  absl::Status add(const FileDescriptorProto& file) {
    file_ = file.name();
    if (pool_.FindFileByName(file_) != nullptr) {
      return bad_plugin("it brings messages of ", file_,
                        ", which the program or another plugin has already: give the file "
                        "another path");
    }
    RETURN_IF_ERROR(check_package(file.package()));
    for (const DescriptorProto& message : file.message_type()) {
      RETURN_IF_ERROR(add_message(file.package(), message));
    }
    for (const EnumDescriptorProto& type : file.enum_type()) {
      RETURN_IF_ERROR(add_enum(file.package(), type));
    }
    for (const auto& service : file.service()) {
      RETURN_IF_ERROR(add_name(join(file.package(), service.name())));
    }
    return add_extensions(file.package(), file.extension());
  }

 private:
  // A package is a name too, as is each enclosing package. Several files may share a package.
  absl::Status check_package(const std::string& package) {
    for (size_t end = package.find('.');; end = package.find('.', end + 1)) {
      const std::string name = package.substr(0, end);
      if (!name.empty() && is_type(name)) return clash(name, "a message or enum of that name");
      if (end == std::string::npos) return absl::OkStatus();
    }
  }

  bool is_type(const std::string& name) const {
    return pool_.FindMessageTypeByName(name) != nullptr ||
           pool_.FindEnumTypeByName(name) != nullptr || names_.count(name) > 0;
  }

  absl::Status add_message(const std::string& scope, const DescriptorProto& message) {
    const std::string name = join(scope, message.name());
    RETURN_IF_ERROR(add_name(name));
    for (const DescriptorProto& nested : message.nested_type()) {
      RETURN_IF_ERROR(add_message(name, nested));
    }
    for (const EnumDescriptorProto& type : message.enum_type()) {
      RETURN_IF_ERROR(add_enum(name, type));
    }
    return add_extensions(name, message.extension());
  }

  // Values of an enum are names in the scope of the enum.
  absl::Status add_enum(const std::string& scope, const EnumDescriptorProto& type) {
    RETURN_IF_ERROR(add_name(join(scope, type.name())));
    for (const auto& value : type.value()) RETURN_IF_ERROR(add_name(join(scope, value.name())));
    return absl::OkStatus();
  }

  template <typename Fields>
  absl::Status add_extensions(const std::string& scope, const Fields& extensions) {
    for (const FieldDescriptorProto& extension : extensions) {
      RETURN_IF_ERROR(add_name(join(scope, extension.name())));
      RETURN_IF_ERROR(add_number(extension));
    }
    return absl::OkStatus();
  }

  absl::Status add_name(const std::string& name) {
    if (const auto* file = pool_.FindFileContainingSymbol(name); file != nullptr) {
      return clash(name, absl::StrCat("one of ", file->name()));
    }
    const auto [found, added] = names_.emplace(name, file_);
    return added ? absl::OkStatus() : clash(name, absl::StrCat("one of ", found->second));
  }

  absl::Status add_number(const FieldDescriptorProto& extension) {
    std::string extended = extension.extendee();
    if (!extended.empty() && extended[0] == '.') extended.erase(0, 1);
    const std::string key = absl::StrCat(extended, " ", extension.number());
    const auto* message = pool_.FindMessageTypeByName(extended);
    const bool known =
        message != nullptr && pool_.FindExtensionByNumber(message, extension.number()) != nullptr;
    if (!known && numbers_.emplace(key, file_).second) return absl::OkStatus();
    return bad_plugin("its ", file_, " extends ", extended, " by the number ", extension.number(),
                      ", which another extension has already: choose another number");
  }

  absl::Status clash(absl::string_view name, absl::string_view there) const {
    return bad_plugin("its ", file_, " has the name ", name,
                      ", but the program or a plugin already has ", there,
                      ": give the messages of the plugin a package of their own");
  }

  const DescriptorPool& pool_ = *DescriptorPool::generated_pool();
  std::map<std::string, std::string> names_, numbers_;  // by name or number: the file
  std::string file_;
};

}  // namespace

absl::Status check_proto_files(const std::vector<FileDescriptorProto>& files) {
  MessageCheck check;
  for (const FileDescriptorProto& file : files) RETURN_IF_ERROR(check.add(file));
  return absl::OkStatus();
}

absl::Status check_plugin_messages(const ElfFile& elf) {
  std::vector<FileDescriptorProto> files;
  for (const ElfSymbol& symbol : elf.symbols()) {
    const std::string path = symbol.defined ? proto_file_of_symbol(symbol.name) : "";
    if (path.empty()) continue;
    ASSIGN_OR_RETURN(FileDescriptorProto file, read_description(elf, symbol.address),
                     absl::StrCat("its description of ", path, " cannot be read"));
    if (file.name() != path) {
      return bad_plugin("its description of ", path, " is one of ", file.name());
    }
    files.push_back(std::move(file));
  }
  return check_proto_files(files);
}

std::string proto_file_of_symbol(absl::string_view symbol) {
  if (!absl::ConsumePrefix(&symbol, "descriptor_table_")) return "";
  std::string path;
  while (!symbol.empty()) {
    if (symbol[0] != '_') {
      path.push_back(symbol[0]);
      symbol.remove_prefix(1);
      continue;
    }
    // Two hexadecimal digits follow.
    if (symbol.size() < 3 || !absl::ascii_isxdigit(symbol[1]) || !absl::ascii_isxdigit(symbol[2])) {
      return "";
    }
    path += absl::HexStringToBytes(symbol.substr(1, 2));
    symbol.remove_prefix(3);
  }
  return path;
}

}  // namespace millrace
