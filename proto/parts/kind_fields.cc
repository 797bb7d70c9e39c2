#include "proto/parts/kind_fields.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "proto/documented_protos.h"

namespace millrace {

std::vector<PartFamily::Field> kind_fields(const google::protobuf::OneofDescriptor& kinds) {
  std::vector<PartFamily::Field> fields;
  for (int i = 0; i < kinds.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *kinds.field(i);
    if (field.name() == "custom") continue;
    fields.push_back({field.name(), absl::StrCat(field.name(), " { … }"), [&field] {
                        const std::string comment = comment_of(field);
                        const bool has_own = !comment.empty() || field.message_type() == nullptr;
                        return has_own ? comment : first_sentence_of(*field.message_type());
                      }});
  }
  return fields;
}

}  // namespace millrace
