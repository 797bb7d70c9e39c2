// A process for a part of the program, with reports to the parent, line by line.
#ifndef MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_
#define MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Forks without exec: libraries are loaded already, so that hundreds of processes take seconds.
// Only for parents that have one thread. Autograd runs in a child if its parents never trained.
// Used by one thread.
//
//   ForkedChild child([](const ForkedChild::Say& say) { say("ready"); work(); });
//   child.next_line();
//   child.send(SIGKILL);
//   int status = child.wait();
class ForkedChild {
 public:
  // Sends a line, without line end, to the parent. The parent can read the line once the call
  // returns, even if the child dies then.
  using Say = std::function<void(absl::string_view line)>;
  // Exits with 0 when `body` returns. SIGALRM ends a child after five minutes.
  explicit ForkedChild(const std::function<void(const Say&)>& body);
  ~ForkedChild();  // kills the child
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  // Waits for a line. Returns none if the child has ended and all lines were read.
  std::optional<std::string> next_line();
  void send(int signal);
  // Stops the child. Returns false if the child has ended.
  bool stop();
  // Waits for the end. Returns the status as waitpid().
  int wait();

 private:
  pid_t process_ = -1;
  int output_ = -1;
  std::string read_;  // not returned yet
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_
