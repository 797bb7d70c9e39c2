#include "base/lines/line_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace millrace {

std::string csv_field(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool json_string(const std::string& text, std::string* quoted) {
  using nlohmann::json;
  *quoted = json(text).dump(-1, ' ', false, json::error_handler_t::ignore);
  return json::parse(*quoted, nullptr, false) == json(text);
}

}  // namespace millrace
