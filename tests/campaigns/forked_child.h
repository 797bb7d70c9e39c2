// A process that runs a part of this program and says what it does, line by line.
#ifndef MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_
#define MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// A fork without exec: libraries are loaded already, so that hundreds of lives take seconds. Only
// for parents that have one thread. Autograd runs in a child if its parents never trained.
// Used by one thread.
//
//   ForkedChild child([](const ForkedChild::Say& say) { say("ready"); work(); });
//   child.next_line();
//   child.send(SIGKILL);
//   int status = child.wait();
class ForkedChild {
 public:
  // Gives one line, without line end, to the parent; it is there when this returns, whatever
  // becomes of the child.
  using Say = std::function<void(absl::string_view line)>;
  // The child exits with 0 when `body` returns. One that lives for five minutes ends by SIGALRM.
  explicit ForkedChild(const std::function<void(const Say&)>& body);
  ~ForkedChild();  // kills it
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  // Waits for a line. None: the child has ended, and all lines were read.
  std::optional<std::string> next_line();
  void send(int signal);
  // Stops it. Returns: false if it has ended.
  bool stop();
  // Waits for the end. Returns: its status as of waitpid.
  int wait();

 private:
  pid_t process_ = -1;
  int output_ = -1;
  std::string read_;  // and not handed out
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_FORKED_CHILD_H_
