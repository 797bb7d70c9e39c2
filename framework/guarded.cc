#include "framework/guarded.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

std::string first_line(absl::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

absl::Status guarded(absl::string_view doing, absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(doing, ": out of memory"));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(doing, ": ", first_line(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(doing, ": ", first_line(error.what())));
  } catch (...) {
    return absl::InternalError(absl::StrCat(doing, ": something was thrown that is no std::exception"));
  }
}

}  // namespace millrace
