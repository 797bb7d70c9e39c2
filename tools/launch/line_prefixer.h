// Prefixes each line of a stream that arrives in pieces.
#ifndef MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_
#define MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace millrace {

// Collects bytes into lines and prepends a prefix to each, so that several programs can share a
// stream:
//
//   LinePrefixer lines("[1] ");
//   lines.add("one\ntw");  // "[1] one\n"
//   lines.add("o\n");      // "[1] two\n"
//
// A line is returned when complete. Longer lines than kMaxLineBytes are returned in pieces, each as
// a line, so that a stream without newlines cannot fill the memory.
class LinePrefixer {
 public:
  static constexpr size_t kMaxLineBytes = 16 << 20;

  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns: the lines completed by these bytes, with prefix and newline; may be "".
  std::string add(absl::string_view bytes);

  // Returns: the rest without a newline at the end of the stream, as a line; "" if nothing remains.
  std::string finish();

  // Returns the last line that does not begin with white space (as continuation lines of a message
  // do), without prefix and newline: its first 4096 bytes.
  const std::string& last_line() const { return last_line_; }

 private:
  void give(absl::string_view end, std::string* lines);

  const std::string prefix_;
  std::string open_;  // the line without a newline yet
  std::string last_line_;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_
