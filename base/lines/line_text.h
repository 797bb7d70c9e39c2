// Values as text of one line: fields of CSV, and JSON.
#ifndef MILLRACE_BASE_LINES_LINE_TEXT_H_
#define MILLRACE_BASE_LINES_LINE_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `text` as a field of RFC 4180: in quotes where it has to be.
std::string csv_field(absl::string_view text);

// Returns `value` in one line without its end. Keys keep their order. Bytes that are not UTF-8
// become U+FFFD; infinities and not-a-number become null.
std::string json_line(const nlohmann::ordered_json& value);

// Writes a text as a JSON string, with quotes. Returns true if the result represents the same text,
// false for a text that is not UTF-8.
bool json_string(const std::string& text, std::string* quoted);

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_LINE_TEXT_H_
