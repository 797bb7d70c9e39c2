// The border between exceptions of libraries and Status: exceptions end here, where nobody above
// could catch them.
#ifndef MILLRACE_BASE_CATCH_EXCEPTIONS_H_
#define MILLRACE_BASE_CATCH_EXCEPTIONS_H_

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// How the message of an exception begins.
struct ExceptionWords {
  // Precedes the message of every exception: "DOING: …". Empty: nothing does.
  absl::string_view doing;
  // Precedes the message of an exception that status_of_exception() takes for Internal. Empty:
  // nothing does.
  absl::string_view internal = "unexpected exception";
  // The message for what is thrown but is no std::exception.
  absl::string_view unknown = "unexpected exception of an unknown type";
};

// Returns status_of_exception() in these words; null stands for what is no std::exception.
absl::Status status_of_exception(const std::exception* exception, const ExceptionWords& words);

// Returns the Status or StatusOr that `call` returns, or the status of its exception.
//
//   absl::StatusOr<Block> block = catch_exceptions([&] { return reader.read(task); });
template <typename Call>
auto catch_exceptions(Call&& call, const ExceptionWords& words = {}) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return status_of_exception(&exception, words);
  } catch (...) {
    return status_of_exception(nullptr, words);
  }
}

// Does the same, but an exception is reported as "DOING: " and its text.
//
//   RETURN_IF_ERROR(catch_exceptions("the backward pass", [&] { ... return absl::OkStatus(); }));
template <typename Call>
auto catch_exceptions(absl::string_view doing, Call&& call) -> decltype(call()) {
  return catch_exceptions(call, {doing, "", "something was thrown that is no std::exception"});
}

}  // namespace millrace

#endif  // MILLRACE_BASE_CATCH_EXCEPTIONS_H_
