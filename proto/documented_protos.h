// Message types with the comments of their .proto files, which compiled-in descriptors lack.
#ifndef MILLRACE_PROTO_DOCUMENTED_PROTOS_H_
#define MILLRACE_PROTO_DOCUMENTED_PROTOS_H_

#include <cstddef>
#include <string>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace millrace {

// Adds a serialized FileDescriptorSet that protoc wrote with --include_source_info. Called during
// static initialization by the code that millrace_cc_proto generates. Borrows the bytes.
bool register_documented_protos(const unsigned char* bytes, size_t size);

// Returns the comment of a field of a compiled-in message as one line of text. Returns "" if the
// field has no comment or its file was not built with millrace_cc_proto.
std::string comment_of(const google::protobuf::FieldDescriptor& field);

// Returns the first sentence of the comment of a message, in the same way.
std::string first_sentence_of(const google::protobuf::Descriptor& message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_DOCUMENTED_PROTOS_H_
