// The kinds of parts with fields of their own.
#ifndef MILLRACE_PROTO_PARTS_PART_KINDS_H_
#define MILLRACE_PROTO_PARTS_PART_KINDS_H_

#include "base/parts/part_family.h"

namespace google::protobuf {
class OneofDescriptor;
}

namespace millrace {

// Adds the fields of `kinds`, except `custom`, to the family. The descriptions are the comments of
// the fields.
void add_kinds(const google::protobuf::OneofDescriptor& kinds, PartFamily* family);

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_PART_KINDS_H_
