// The kinds of parts with fields of their own.
#ifndef MILLRACE_PROTO_PARTS_KIND_FIELDS_H_
#define MILLRACE_PROTO_PARTS_KIND_FIELDS_H_

#include <vector>

#include "base/parts/part_family.h"

namespace google::protobuf {
class OneofDescriptor;
}

namespace millrace {

// Returns the fields of `kinds`, except `custom`, for the registry of a family. The descriptions
// are the comments of the fields.
std::vector<PartFamily::Field> kind_fields(const google::protobuf::OneofDescriptor& kinds);

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_KIND_FIELDS_H_
