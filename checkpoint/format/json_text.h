// Texts in JSON.
#ifndef MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_
#define MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_

#include <string>

namespace millrace {

// Writes a text as a JSON string, with quotes. Returns true if the result represents the same text,
// false for a text that is not UTF-8.
bool json_string(const std::string& text, std::string* quoted);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_
