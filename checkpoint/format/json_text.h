// Texts in JSON.
#ifndef MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_
#define MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_

#include <string>

namespace millrace {

// Writes a text as JSON does, with quotes. Returns: whether it says the same; not where the text is
// no UTF-8.
bool json_string(const std::string& text, std::string* quoted);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_JSON_TEXT_H_
