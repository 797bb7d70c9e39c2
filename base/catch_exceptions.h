// Exceptions of libraries as Status, where nobody above could catch them.
#ifndef MILLRACE_BASE_CATCH_EXCEPTIONS_H_
#define MILLRACE_BASE_CATCH_EXCEPTIONS_H_

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"

namespace millrace {

// Returns: what `call` returns, a Status or StatusOr; for an exception status_of_exception.
//
//   absl::StatusOr<Block> block = catch_exceptions([&] { return reader.read(task); });
template <typename Call>
auto catch_exceptions(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    const absl::Status status = status_of_exception(exception);
    return absl::IsInternal(status)
               ? absl::InternalError(absl::StrCat("unexpected exception: ", status.message()))
               : status;
  } catch (...) {
    return absl::InternalError("unexpected exception of an unknown type");
  }
}

}  // namespace millrace

#endif  // MILLRACE_BASE_CATCH_EXCEPTIONS_H_
