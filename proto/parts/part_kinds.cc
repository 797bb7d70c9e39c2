#include "proto/parts/part_kinds.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "proto/documented_protos.h"

namespace millrace {

void add_kinds(const google::protobuf::OneofDescriptor& kinds, PartFamily* family) {
  for (int i = 0; i < kinds.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *kinds.field(i);
    if (field.name() == "custom") continue;
    family->add_field(field.name(), absl::StrCat(field.name(), " { … }"), [&field] {
      const std::string comment = comment_of(field);
      const bool has_own = !comment.empty() || field.message_type() == nullptr;
      return has_own ? comment : first_sentence_of(*field.message_type());
    });
  }
}

}  // namespace millrace
