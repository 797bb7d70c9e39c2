// The kinds of parts that have fields of their own.
#ifndef MILLRACE_PROTO_PARTS_PART_KINDS_H_
#define MILLRACE_PROTO_PARTS_PART_KINDS_H_

#include "base/parts/part_family.h"

namespace google::protobuf {
class OneofDescriptor;
}

namespace millrace {

// Adds the fields of `kinds`, except `custom`, to the family. Their comments are the descriptions.
void add_kinds(const google::protobuf::OneofDescriptor& kinds, PartFamily* family);

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_PART_KINDS_H_
