// The protobuf messages of a plugin, read from the file.
#ifndef MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_
#define MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plugin/elf_file.h"

namespace millrace {

// Checks that protobuf can add the .proto files of a plugin to the process. Otherwise protobuf
// would end the process: generated code of a loaded library adds its files to a global pool, in
// which each path, each full name and each extension number must be unique.
// Errors: InvalidArgument with the .proto file, the existing entry and a remedy, without the name
// of the plugin.
absl::Status check_proto_files(const std::vector<google::protobuf::FileDescriptorProto>& files);

// Calls check_proto_files() with the descriptions in generated code of `elf`. Errors: errors of
// check_proto_files; InvalidArgument if a description cannot be read.
absl::Status check_plugin_messages(const ElfFile& elf);

// Returns the path of a .proto file from the name of protoc's symbol for the file, or "" for
// another symbol: descriptor_table_my_2fjob_2eproto is my/job.proto.
std::string proto_file_of_symbol(absl::string_view symbol);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_MESSAGES_H_
