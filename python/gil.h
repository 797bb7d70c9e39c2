// The lock of the Python interpreter (GIL), with a count of its acquisitions, and exceptions of
// Python as statuses.
#ifndef MILLRACE_PYTHON_GIL_H_
#define MILLRACE_PYTHON_GIL_H_

#include <pybind11/pybind11.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/catch_exceptions.h"

namespace millrace {

// The code of Python for which this extension acquires the GIL.
enum class GilUse { kModel, kHook, kMetric };

// Holds the GIL during its lifetime and counts the acquisition. Not for destructors of objects,
// which use pybind11's class and are not counted. May be nested.
class CountedGil {
 public:
  explicit CountedGil(GilUse use) { ++count(use); }
  // Returns the number of acquisitions for `use` in this process. REQUIRES: the GIL is held.
  static int64_t& count(GilUse use);

 private:
  pybind11::gil_scoped_acquire held_;
};

// The Python side of the run in progress. REQUIRES of every use: the GIL is held.
struct PythonRun {
  pybind11::object module;   // a torch.nn.Module, a function that makes one, or None
  pybind11::object support;  // the module millrace._training: classes of arguments and results
  pybind11::dict metrics;    // name → class of millrace.Metric
  pybind11::object error;    // the first exception of the run; null: none
};

// Returns the run in progress, null if there is none. At most one is in progress in a process.
PythonRun*& current_run();

// Returns an exception as a status, and keeps the first exception of the run for its end. The
// message is "DOING: TYPE: TEXT, in FILE:LINE (FUNCTION)"; the kind is kPart (base/failure_kind.h).
// REQUIRES: the GIL is held; a run is in progress.
absl::Status status_of_python(absl::string_view doing, const pybind11::error_already_set& error);

// Calls a function that uses Python, and returns its Status or StatusOr, or its exception as a
// status. Acquires the GIL.
template <typename Call>
auto call_python(GilUse use, absl::string_view doing, Call&& call) -> decltype(call()) {
  const CountedGil gil(use);
  // Other exceptions are such as pybind11::cast_error, for a value of another type.
  return catch_part_exceptions(doing, [&]() -> decltype(call()) {
    try {
      return call();
    } catch (const pybind11::error_already_set& error) {
      return status_of_python(doing, error);
    }
  });
}

}  // namespace millrace

#endif  // MILLRACE_PYTHON_GIL_H_
