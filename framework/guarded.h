// The border between LibTorch's exceptions and our Status.
#ifndef MILLRACE_FRAMEWORK_GUARDED_H_
#define MILLRACE_FRAMEWORK_GUARDED_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/catch_exceptions.h"

namespace millrace {

// Calls `body` and returns its status, or the status of its exception annotated with `doing`. Only
// the first line of a c10::Error is reported, which is before its backtrace.
inline absl::Status guarded(absl::string_view doing, absl::FunctionRef<absl::Status()> body) {
  return catch_exceptions(doing, body);
}

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_GUARDED_H_
