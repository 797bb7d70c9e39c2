// The output of ranks: whole lines with a prefix, and a queue that does not block its writer.
#ifndef MILLRACE_TOOLS_LAUNCH_RANK_OUTPUT_H_
#define MILLRACE_TOOLS_LAUNCH_RANK_OUTPUT_H_

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

// Buffers data that a descriptor does not accept yet, since its reader may stall for any time.
// Pieces are written whole and in the order of add(), as long as no other process writes to the
// descriptor.
//
//   OutputQueue queue(STDOUT_FILENO);
//   queue.add("a line\n");
//   while (!queue.empty()) {
//     ... poll for POLLOUT on queue.fd(), beside other things ...
//     queue.write_some();
//   }
//
// The descriptor is borrowed and unchanged: it may be shared with other processes, so it is not
// made non-blocking. At most PIPE_BUF bytes are written at once, for which a pipe that is ready for
// output always has room.
class OutputQueue {
 public:
  // Size from which the source of the data should wait.
  static constexpr size_t kFullBytes = 1 << 20;

  explicit OutputQueue(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return begin_ == bytes_.size(); }
  bool full() const { return bytes_.size() - begin_ >= kFullBytes; }
  void add(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

  // Writes as much as the descriptor accepts without blocking, maybe nothing. Data without a reader
  // (the other end is closed, the disk is full) is dropped.
  void write_some();

 private:
  const int fd_;
  std::string bytes_;
  size_t begin_ = 0;  // earlier bytes are written
};

// Returns true if both descriptors refer to the same file, pipe or terminal.
bool same_destination(int fd, int other);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_RANK_OUTPUT_H_
