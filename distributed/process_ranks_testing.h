// Ranks as processes of a test: children of the test's process that it can stop, kill and hear
// from.
#ifndef MILLRACE_DISTRIBUTED_PROCESS_RANKS_TESTING_H_
#define MILLRACE_DISTRIBUTED_PROCESS_RANKS_TESTING_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "distributed/rank_environment.h"
#include "distributed/reserved_port.h"

namespace millrace {

// Reserves a port; ends the test if there is none.
ReservedPort free_port();

// What a child sees of its parent.
class ChildLink {
 public:
  explicit ChildLink(int descriptor) : descriptor_(descriptor) {}
  // Tells the parent that the child has come to a certain point. Any thread.
  void signal() const;

 private:
  const int descriptor_;
};

// Children are copies of the process, made by fork without exec: the process must have no other
// threads when it makes them, and so must not have computed with tensors. They end with it.
class ProcessRanks {
 public:
  // Runs in the child of that rank; what it returns comes back by wait().
  using Body = std::function<absl::Status(const RankEnvironment&, const ChildLink&)>;

  // Starts `world_size` ranks that meet at a port of 127.0.0.1, which is theirs until this object
  // is destroyed.
  ProcessRanks(int world_size, const Body& body);
  // Starts one for each environment.
  ProcessRanks(const std::vector<RankEnvironment>& environments, const Body& body);
  ~ProcessRanks();  // kills those that still run

  // Returns the port at which ranks of the first constructor meet.
  int port() const { return port_.number; }

  // Waits until the child called signal(). Returns: false if it ended before, or did not in a
  // minute.
  bool await_signal(int child);
  void send(int child, int signal_number);
  // Waits for the child's end. Returns: what its body returned; Unknown naming the signal if one
  // killed it; DeadlineExceeded if it still runs after `limit`.
  absl::Status wait(int child, absl::Duration limit = absl::Minutes(1));

 private:
  struct Child {
    pid_t pid = -1;
    int result = -1;  // pipe from the child
    int signals = -1;
    bool ended = false;
    std::string text;
  };
  void start(const RankEnvironment& environment, const Body& body);

  const ReservedPort port_ = free_port();
  std::vector<Child> children_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_PROCESS_RANKS_TESTING_H_
