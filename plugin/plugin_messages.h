// The protobuf messages that a plugin brings, read from its file.
#ifndef MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_
#define MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plugin/elf_file.h"

namespace millrace {

// Checks that protobuf can add the .proto files of a plugin to those of this process. Protobuf ends
// the process otherwise: while a library is loaded, its generated code adds its files to one pool,
// in which each path, each full name and each number of an extension must be there once.
// Errors: InvalidArgument naming the .proto file, what is there already, and what to do. The
// message does not name the plugin.
absl::Status check_proto_files(const std::vector<google::protobuf::FileDescriptorProto>& files);

// Checks the files that check_proto_files() gets from the descriptions in generated code of `elf`.
// Errors: those of check_proto_files; InvalidArgument if a description cannot be read.
absl::Status check_plugin_messages(const ElfFile& elf);

// Returns the path of a .proto file from the name of the symbol that protoc makes of it, or "" for
// another symbol: descriptor_table_my_2fjob_2eproto is my/job.proto.
std::string proto_file_of_symbol(absl::string_view symbol);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_
