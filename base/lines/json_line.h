// JSON in one line.
#ifndef MILLRACE_BASE_LINES_JSON_LINE_H_
#define MILLRACE_BASE_LINES_JSON_LINE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace millrace {

// Returns `value` in one line without its end. Keys keep their order. Bytes that are not UTF-8
// become U+FFFD; infinities and not-a-number become null.
std::string json_line(const nlohmann::ordered_json& value);

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_JSON_LINE_H_
