// The border between LibTorch's exceptions and our Status.
#ifndef MILLRACE_FRAMEWORK_GUARDED_H_
#define MILLRACE_FRAMEWORK_GUARDED_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Calls `body` and returns its status; an exception becomes a status instead, annotated with `doing`:
// c10::Error and others Internal with the first line of their message, std::bad_alloc ResourceExhausted.
absl::Status guarded(absl::string_view doing, absl::FunctionRef<absl::Status()> body);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_GUARDED_H_
