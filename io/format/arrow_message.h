// The messages of Arrow. Included by .cc files that use Arrow only.
#ifndef MILLRACE_IO_FORMAT_ARROW_MESSAGE_H_
#define MILLRACE_IO_FORMAT_ARROW_MESSAGE_H_

#include <arrow/status.h>

#include <algorithm>
#include <string>

namespace millrace {

// The message of a status on one line, without Arrow's call paths.
inline std::string arrow_message(const arrow::Status& status) {
  std::string message = status.message();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_MESSAGE_H_
