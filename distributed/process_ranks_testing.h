// Ranks as child processes of a test. The test can stop and kill them and receive their signals.
#ifndef MILLRACE_DISTRIBUTED_PROCESS_RANKS_TESTING_H_
#define MILLRACE_DISTRIBUTED_PROCESS_RANKS_TESTING_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/net/socket.h"
#include "distributed/rank_environment.h"

namespace millrace {

// Reserves a port; ends the test if no port is free.
ReservedPort free_port();

// A child's connection to its parent.
class ChildLink {
 public:
  explicit ChildLink(int descriptor) : descriptor_(descriptor) {}
  // Reports to the parent that the child has reached a certain point. Any thread.
  void signal() const;

 private:
  const int descriptor_;
};

// Child processes, made by fork without exec. When they are made, the process must have no other
// threads, and so must not have computed with tensors. The children end with the process.
class ProcessRanks {
 public:
  // Runs in the child of the rank; wait() returns its result.
  using Body = std::function<absl::Status(const RankEnvironment&, const ChildLink&)>;

  // Starts `world_size` ranks that meet at a port of 127.0.0.1, reserved for the lifetime of the
  // object.
  ProcessRanks(int world_size, const Body& body);
  // Starts a rank per environment.
  ProcessRanks(const std::vector<RankEnvironment>& environments, const Body& body);
  ~ProcessRanks();  // kills the children that still run

  // Returns the port at which ranks of the first constructor meet.
  int port() const { return port_.number; }

  // Waits until the child has called signal(). Returns false if the child ended before, or after a
  // minute.
  bool await_signal(int child);
  void send(int child, int signal_number);
  // Waits for the child's end. Returns the result of its body; Unknown naming the signal if a
  // signal killed the child; DeadlineExceeded if the child still runs after `limit`.
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
