// Output that must not block its writer.
#ifndef MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_
#define MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

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

#endif  // MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_
