#include "sinks/mlflow/mlflow_json.h"

#include "sinks/number_text.h"

namespace millrace {

std::string dump_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) {
  return number_text(value, {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""});
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace millrace
