// Results of the extension's functions for millrace._training, which raises their errors.
#ifndef MILLRACE_PYTHON_OUTCOME_H_
#define MILLRACE_PYTHON_OUTCOME_H_

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/catch_exceptions.h"
#include "tools/exit_code.h"

namespace millrace {

// Returns (None, None), or (message, (name of the status code, exit code, `cause`)). `cause`: an
// exception of Python, or null. REQUIRES: the GIL is held.
inline pybind11::tuple outcome_of(const absl::Status& status, const pybind11::object& cause = {}) {
  if (status.ok()) return pybind11::make_tuple(pybind11::none(), pybind11::none());
  return pybind11::make_tuple(
      std::string(status.message()),
      pybind11::make_tuple(absl::StatusCodeToString(status.code()), exit_code(status),
                           cause ? cause : pybind11::object(pybind11::none())));
}

// Returns (None, value), or the error in the same form.
template <typename T>
pybind11::tuple outcome_of(absl::StatusOr<T> outcome, const pybind11::object& cause = {}) {
  if (!outcome.ok()) return outcome_of(outcome.status(), cause);
  return pybind11::make_tuple(pybind11::none(), *std::move(outcome));
}

// Calls a function without the GIL, and returns its StatusOr; exceptions of C++ become errors.
template <typename Call>
auto without_gil(Call&& call) -> decltype(call()) {
  const pybind11::gil_scoped_release released;
  return catch_exceptions(std::forward<Call>(call));
}

}  // namespace millrace

#endif  // MILLRACE_PYTHON_OUTCOME_H_
