// Child processes that measure for their parent.
#ifndef MILLRACE_BENCH_RANKS_SERVING_PROCESS_H_
#define MILLRACE_BENCH_RANKS_SERVING_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// A copy of this process by fork, which answers requests one after the other:
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ServingProcess> child, ServingProcess::start([&]() {
//     ... make what is measured ...
//     return [...](absl::Span<const int64_t> request) { ... return figures; };
//   }));
//   RETURN_IF_ERROR(child->ask({kSteps, 100}));
//   ASSIGN_OR_RETURN(std::vector<double> figures, child->answer());
//
// Several children work at the same time if all are asked before one answer is awaited. Children
// are killed when the parent ends. REQUIRES: the parent has no other threads, and so has not
// computed with tensors.
class ServingProcess {
 public:
  // Answers one request, in the child.
  using Serve = std::function<absl::StatusOr<std::vector<double>>(absl::Span<const int64_t>)>;
  // Creates the function that answers requests, in the child.
  using Make = std::function<absl::StatusOr<Serve>()>;

  // Maximum of numbers in a request or an answer.
  static constexpr size_t kMostNumbers = 1000;

  // Starts a child. Errors: Unavailable if the system cannot create a process.
  static absl::StatusOr<std::unique_ptr<ServingProcess>> start(const Make& make);
  // Calls finish() and waits for the child's end.
  ~ServingProcess();
  ServingProcess(const ServingProcess&) = delete;
  ServingProcess& operator=(const ServingProcess&) = delete;

  // Sends a request. Errors: Unavailable with a description of the child's end.
  absl::Status ask(absl::Span<const int64_t> request);
  // Blocks until the answer to the oldest request arrives. Errors: as Make and Serve, also for
  // every later answer; Unavailable with a description of the child's end.
  absl::StatusOr<std::vector<double>> answer();
  // Lets the child end. For children whose ends wait for one another, called for all of them before
  // the first is destroyed.
  void finish();

 private:
  ServingProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  // Waits for the child's end and describes it.
  absl::Status ended();

  pid_t pid_;    // -1: has been awaited
  int how_ = 0;  // status of waitpid()
  int socket_;
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_RANKS_SERVING_PROCESS_H_
