#include "sinks/valid_utf8.h"

#include <nlohmann/json.hpp>

namespace millrace {

std::string valid_utf8(absl::string_view text) {
  using Json = nlohmann::json;
  const std::string quoted =
      Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace millrace
