// The border between exceptions of libraries and Status. Code above this border neither throws nor
// catches.
#ifndef MILLRACE_BASE_CATCH_EXCEPTIONS_H_
#define MILLRACE_BASE_CATCH_EXCEPTIONS_H_

#include <exception>
#include <stdexcept>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The words of the statuses that catch_exceptions() makes of exceptions.
struct ExceptionWords {
  // Prefix of every message: "DOING: …". Empty: no prefix.
  absl::string_view doing;
  // Prefix of the messages of exceptions that base/failure_kind.h maps to Internal. Empty: no
  // prefix.
  absl::string_view internal = "unexpected exception";
  // Message for a thrown object that is no std::exception.
  absl::string_view unknown = "unexpected exception of an unknown type";
  // If true, `call` runs code of a part, such as a hook or a model: statuses that would be Internal
  // alone also get the kind kPart of base/failure_kind.h.
  bool of_part = false;
};

// Returns status_of_exception() of base/failure_kind.h in these words. `exception`: null for a
// thrown object that is no std::exception.
absl::Status status_of_exception(const std::exception* exception, const ExceptionWords& words);

// Returns the Status or StatusOr of `call`, or the status of an exception of `call`.
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

// Does the same, and reports an exception as "DOING: " and the first line of its text.
//
//   RETURN_IF_ERROR(catch_exceptions("the backward pass", [&] { ... return absl::OkStatus(); }));
template <typename Call>
auto catch_exceptions(absl::string_view doing, Call&& call) -> decltype(call()) {
  return catch_exceptions(call, {doing, "", "something was thrown that is no std::exception"});
}

// Does the same for code of a part.
template <typename Call>
auto catch_part_exceptions(absl::string_view doing, Call&& call) -> decltype(call()) {
  return catch_exceptions(call,
                          {doing, "", "something was thrown that is no std::exception", true});
}

// Calls code of a part by functions without a Status, within catch_part_exceptions() of a caller.
// Rethrows an exception that would be Internal with the prefix "WHAT NAME: ", so that the caller's
// status names the part.
template <typename Call>
auto name_exceptions(absl::string_view what, absl::string_view name, Call&& call)
    -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    const absl::Status status = status_of_exception(&exception, {"", ""});
    if (!absl::IsInternal(status)) throw;
    throw std::runtime_error(absl::StrCat(what, " ", name, ": ", status.message()));
  } catch (...) {
    throw std::runtime_error(
        absl::StrCat(what, " ", name, ": something was thrown that is no std::exception"));
  }
}

}  // namespace millrace

#endif  // MILLRACE_BASE_CATCH_EXCEPTIONS_H_
