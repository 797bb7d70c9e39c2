// The border between LibTorch's exceptions and our Status.
#ifndef MILLRACE_FRAMEWORK_GUARDED_H_
#define MILLRACE_FRAMEWORK_GUARDED_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Calls `body` and returns its status; an exception becomes status_of_exception (c10::Error without
// its backtrace), annotated with `doing`.
absl::Status guarded(absl::string_view doing, absl::FunctionRef<absl::Status()> body);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_GUARDED_H_
