// Finds the operation that first produced a value that is not finite.
#ifndef MILLRACE_FRAMEWORK_LOOP_ANOMALY_WATCH_H_
#define MILLRACE_FRAMEWORK_LOOP_ANOMALY_WATCH_H_

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optim/dense/dense_optimizer.h"

namespace millrace {

// While an object lives, each operation of LibTorch on its thread, also within backward(), has its
// results read. This makes a step several times as slow. On a GPU, operations of the backward pass
// run on other threads and are not seen. One object per thread at a time.
class AnomalyWatch {
 public:
  // Borrows `parameters`, by whose names a module is found.
  explicit AnomalyWatch(absl::Span<const NamedParameter> parameters);
  ~AnomalyWatch();
  AnomalyWatch(const AnomalyWatch&) = delete;
  AnomalyWatch& operator=(const AnomalyWatch&) = delete;

  // Returns the first operation whose inputs were finite and whose result was not, such as
  // "aten::log, after the parameter over.0.bias", or in the backward pass "aten::div of
  // SqrtBackward0, after the parameter over.0.bias". Operations without inputs are omitted, and
  // those that only allocate memory. "": there was none.
  const std::string& first() const { return first_; }

 private:
  struct Call;  // an operation under way

  static std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& function);
  static void end_call(const at::RecordFunction& function, at::ObserverContext* context);
  void note_parameters(const at::RecordFunction& function);
  void note_result(const at::RecordFunction& function, bool inputs_finite);

  const absl::Span<const NamedParameter> parameters_;
  at::CallbackHandle callback_;
  std::vector<std::string> backward_;  // functions of the backward pass under way, the inner last
  std::string parameter_;              // read last by an operation
  std::string first_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_ANOMALY_WATCH_H_
