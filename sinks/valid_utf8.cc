#include "sinks/valid_utf8.h"

#include <nlohmann/json.hpp>

#include "base/lines/line_text.h"

namespace millrace {

std::string valid_utf8(absl::string_view text) {
  return nlohmann::json::parse(json_line(std::string(text))).get<std::string>();
}

}  // namespace millrace
