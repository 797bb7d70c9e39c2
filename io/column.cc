#include "io/column.h"

namespace millrace {

absl::string_view describe(ValueType type) {
  switch (type) {
    case ValueType::kInt64:
      return "integers";
    case ValueType::kUint64:
      return "unsigned integers";
    case ValueType::kDouble:
      return "numbers";
    case ValueType::kString:
      return "text";
    case ValueType::kText:
      return "delimited text";
  }
  return "";
}

}  // namespace millrace
