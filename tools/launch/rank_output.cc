#include "tools/launch/rank_output.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace millrace {

std::string LinePrefixer::add(absl::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const size_t room = kMaxLineBytes - open_.size();
    const size_t newline = bytes.substr(0, room).find('\n');
    if (newline != absl::string_view::npos) {
      give(bytes.substr(0, newline), &lines);
      bytes.remove_prefix(newline + 1);
    } else if (bytes.size() > room) {
      give(bytes.substr(0, room), &lines);
      bytes.remove_prefix(room);
    } else {
      open_.append(bytes.data(), bytes.size());
      bytes = "";
    }
  }
  return lines;
}

std::string LinePrefixer::finish() {
  std::string lines;
  if (!open_.empty()) give("", &lines);
  return lines;
}

// Ends the open line with `end`.
void LinePrefixer::give(absl::string_view end, std::string* lines) {
  const size_t begin = lines->size() + prefix_.size();
  absl::StrAppend(lines, prefix_, open_, end);
  const absl::string_view line = absl::string_view(*lines).substr(begin);
  const bool starts = !line.empty() && !absl::ascii_isspace(line[0]);
  if (starts) last_line_ = std::string(line.substr(0, 4096));
  lines->push_back('\n');
  open_.clear();
}

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
