// Early return on errors, in the manner of Abseil's later status macros.
//
//   absl::Status load(absl::string_view path) {
//     ASSIGN_OR_RETURN(std::string text, read_file(path));
//     RETURN_IF_ERROR(parse(text), absl::StrCat("parsing ", path));
//     return absl::OkStatus();
//   }
//
// Include this in .cc files only: the macros have short names.
#ifndef MILLRACE_BASE_STATUS_MACROS_H_
#define MILLRACE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns: `status` with "<what>: " before its message (same code and payloads); unchanged if
// `status` is OK or `what` is empty.
absl::Status annotate(absl::Status status, absl::string_view what);

namespace internal {
inline absl::Status to_status(absl::Status status) { return status; }
inline absl::Status to_status(absl::Status status, absl::string_view what) {
  return annotate(std::move(status), what);
}
}  // namespace internal
}  // namespace millrace

// RETURN_IF_ERROR(expr [, what]): returns from the enclosing function if the
// absl::Status `expr` is not OK; `what` (evaluated only then) says what was being done.
#define RETURN_IF_ERROR(expr, ...)                                                      \
  do {                                                                                  \
    if (absl::Status millrace_status_ = (expr); !millrace_status_.ok()) {               \
      return ::millrace::internal::to_status(std::move(millrace_status_) __VA_OPT__(, ) \
                                                 __VA_ARGS__);                          \
    }                                                                                   \
  } while (false)

#define MILLRACE_CONCAT_INNER_(a, b) a##b
#define MILLRACE_CONCAT_(a, b) MILLRACE_CONCAT_INNER_(a, b)

// ASSIGN_OR_RETURN(lhs, expr [, what]): assigns the value of the absl::StatusOr
// `expr` to `lhs` (which may declare a variable) or returns its status.
// Parenthesise a `lhs` that contains a comma.
#define ASSIGN_OR_RETURN(lhs, expr, ...)                                    \
  MILLRACE_ASSIGN_OR_RETURN_(MILLRACE_CONCAT_(millrace_or_, __LINE__), lhs, \
                             expr __VA_OPT__(, ) __VA_ARGS__)
#define MILLRACE_ASSIGN_OR_RETURN_(temporary, lhs, expr, ...)                           \
  auto temporary = (expr);                                                              \
  if (!temporary.ok()) {                                                                \
    return ::millrace::internal::to_status(std::move(temporary).status() __VA_OPT__(, ) \
                                               __VA_ARGS__);                            \
  }                                                                                     \
  lhs = *std::move(temporary)

#endif  // MILLRACE_BASE_STATUS_MACROS_H_
