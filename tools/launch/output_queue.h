// Output that must not hold up its writer.
#ifndef MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_
#define MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Keeps what a descriptor does not take yet: its reader may stall for any time. Pieces come out
// whole and in the order in which they were added, as long as nobody else writes there.
//
//   OutputQueue queue(STDOUT_FILENO);
//   queue.add("a line\n");
//   while (!queue.empty()) {
//     ... poll for POLLOUT on queue.fd(), beside other things ...
//     queue.write_some();
//   }
//
// The descriptor is borrowed and stays as it is: it may be shared with other processes, so it is
// not made non-blocking. It takes no more at once than PIPE_BUF, which a pipe that is ready for
// output always has room for.
class OutputQueue {
 public:
  // From here on the source of what is added should wait.
  static constexpr size_t kFullBytes = 1 << 20;

  explicit OutputQueue(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return begin_ == bytes_.size(); }
  bool full() const { return bytes_.size() - begin_ >= kFullBytes; }
  void add(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

  // Writes what the descriptor takes without waiting, maybe nothing. What nobody will read (the
  // other end is closed, the disk is full) is dropped.
  void write_some();

 private:
  const int fd_;
  std::string bytes_;
  size_t begin_ = 0;  // what stands before it is written
};

// Whether both lead to the same file, pipe or terminal.
bool same_destination(int fd, int other);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_OUTPUT_QUEUE_H_
