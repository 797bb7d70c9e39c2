#include "base/lines/csv_field.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace millrace {

std::string csv_field(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace millrace
