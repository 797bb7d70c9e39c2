// Exceptions of libraries as Status, where nobody above could catch them.
#ifndef MILLRACE_BASE_CATCH_EXCEPTIONS_H_
#define MILLRACE_BASE_CATCH_EXCEPTIONS_H_

#include <exception>
#include <new>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace {

// Returns: what `call` returns, a Status or StatusOr; for an exception ResourceExhausted if memory
// or threads ran out, else Internal with what it says.
//
//   absl::StatusOr<Block> block = catch_exceptions([&] { return reader.read(task); });
template <typename Call>
auto catch_exceptions(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return absl::ResourceExhaustedError(error.what());
    }
    return absl::InternalError(error.what());
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("unexpected exception: ", error.what()));
  } catch (...) {
    return absl::InternalError("unexpected exception of an unknown type");
  }
}

}  // namespace millrace

#endif  // MILLRACE_BASE_CATCH_EXCEPTIONS_H_
