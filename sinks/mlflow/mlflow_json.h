// JSON of the tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_JSON_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace millrace {

// Returns the value in ASCII. `indent`: columns for each level; -1: in one line. Bytes that are not
// UTF-8 become U+FFFD.
std::string dump_json(const nlohmann::json& value, int indent = -1);

// Returns a number as the requests have it: the shortest text with the same float64, or the text
// "NaN", "Infinity" or "-Infinity".
std::string json_number(double value);

// Returns the text at a key of an object; "" if there is none.
std::string text_of(const nlohmann::json& object, const char* key);

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_JSON_H_
