// Marks each line of a stream that arrives in pieces.
#ifndef MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_
#define MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace millrace {

// Gathers bytes to lines and puts a prefix before each, so that the output of several programs can
// share one stream:
//
//   LinePrefixer lines("[1] ");
//   lines.add("one\ntw");  // "[1] one\n"
//   lines.add("o\n");      // "[1] two\n"
//
// A line is given out when it is complete. Beyond kMaxLineBytes it is given out in pieces that each
// are a line, so that a stream without newlines cannot fill the memory.
class LinePrefixer {
 public:
  static constexpr size_t kMaxLineBytes = 16 << 20;

  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns: the lines that these bytes complete, with prefix and newline; may be "".
  std::string add(absl::string_view bytes);

  // Returns: what stands without a newline at the end of the stream, as a line; "" if nothing.
  std::string finish();

  // The last line given out that does not begin with white space, as what goes on with a message
  // does; without prefix and newline, the first 4096 bytes of it.
  const std::string& last_line() const { return last_line_; }

 private:
  void give(absl::string_view end, std::string* lines);

  const std::string prefix_;
  std::string open_;  // of a line without its newline
  std::string last_line_;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_LINE_PREFIXER_H_
