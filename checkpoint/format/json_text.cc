#include "checkpoint/format/json_text.h"

#include <nlohmann/json.hpp>

namespace millrace {

bool json_string(const std::string& text, std::string* quoted) {
  using nlohmann::json;
  *quoted = json(text).dump(-1, ' ', false, json::error_handler_t::ignore);
  return json::parse(*quoted, nullptr, false) == json(text);
}

}  // namespace millrace
