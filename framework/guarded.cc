#include "framework/guarded.h"

#include <c10/util/Exception.h>

#include <exception>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status guarded(absl::string_view doing, absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return annotate(status_of_exception(std::runtime_error(error.what_without_backtrace())), doing);
  } catch (const std::exception& error) {
    return annotate(status_of_exception(error), doing);
  } catch (...) {
    return absl::InternalError(
        absl::StrCat(doing, ": something was thrown that is no std::exception"));
  }
}

}  // namespace millrace
