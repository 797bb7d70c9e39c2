#include "tests/campaigns/forked_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace millrace {
namespace {

constexpr unsigned kForkedLifeSeconds = 300;

void write_line(int fd, absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) ::_exit(1);
    if (n > 0) done += n;
  }
}

}  // namespace

ForkedChild::ForkedChild(const std::function<void(const Say&)>& body) {
  int ends[2];
  MILLRACE_CHECK(::pipe2(ends, O_CLOEXEC) == 0) << "no pipe: errno " << errno;
  std::fflush(nullptr);  // otherwise the child would write buffered text again
  process_ = ::fork();
  MILLRACE_CHECK(process_ >= 0) << "no process: errno " << errno;
  if (process_ == 0) {
    ::close(ends[0]);
    ::alarm(kForkedLifeSeconds);
    body([fd = ends[1]](absl::string_view line) { write_line(fd, line); });
    ::_exit(0);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

ForkedChild::~ForkedChild() {
  if (process_ > 0) {
    send(SIGKILL);
    wait();
  }
  ::close(output_);
}

std::optional<std::string> ForkedChild::next_line() {
  while (true) {
    const size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t n = ::read(output_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    read_.append(buffer, n);
  }
}

void ForkedChild::send(int signal) {
  if (process_ > 0) ::kill(process_, signal);
}

bool ForkedChild::stop() {
  send(SIGSTOP);
  siginfo_t info = {};
  const int result = ::waitid(P_PID, process_, &info, WSTOPPED | WEXITED | WNOWAIT);
  return result == 0 && info.si_code == CLD_STOPPED;
}

int ForkedChild::wait() {
  int status = -1;
  while (process_ > 0 && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

}  // namespace millrace
