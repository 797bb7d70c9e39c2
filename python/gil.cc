#include "python/gil.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"

namespace millrace {

int64_t& CountedGil::count(GilUse use) {
  static std::array<int64_t, 3> counts = {};
  return counts[static_cast<size_t>(use)];
}

PythonRun*& current_run() {
  static PythonRun* run = nullptr;
  return run;
}

absl::Status status_of_python(absl::string_view doing, const pybind11::error_already_set& error) {
  PythonRun& run = *current_run();
  // The exception as raised, with its traceback.
  pybind11::object exception = error.value();
  if (error.trace()) exception.attr("__traceback__") = error.trace();
  if (!run.error) run.error = exception;
  const auto text = pybind11::cast<std::string>(run.support.attr("describe_error")(exception));
  return replace_kind(absl::InternalError(absl::StrCat(doing, ": ", text)), FailureKind::kPart);
}

}  // namespace millrace
