#include "tools/launch/output_queue.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace millrace {

void OutputQueue::write_some() {
  while (!empty()) {
    pollfd ready = {fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) <= 0) break;
    const size_t size = std::min<size_t>(bytes_.size() - begin_, PIPE_BUF);
    const ssize_t count = ::write(fd_, bytes_.data() + begin_, size);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    begin_ = count < 0 ? bytes_.size() : begin_ + count;
  }
  // Moved rarely, so that a long queue is not copied for each written piece.
  if (empty() || begin_ >= kFullBytes) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
}

bool same_destination(int fd, int other) {
  struct stat one = {}, two = {};
  return fd == other || (::fstat(fd, &one) == 0 && ::fstat(other, &two) == 0 &&
                         one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

}  // namespace millrace
