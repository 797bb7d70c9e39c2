// Metrics whose classes are in Python.
#ifndef MILLRACE_PYTHON_PYTHON_METRIC_H_
#define MILLRACE_PYTHON_PYTHON_METRIC_H_

#include <pybind11/pybind11.h>

#include "absl/status/status.h"

namespace millrace {

// Registers classes of millrace.Metric under their names, for the rest of the process; a metric is
// made by the class that the run in progress has (PythonRun::metrics). Errors: InvalidArgument for
// the name of a metric in C++, and for a name that was registered with another direction.
// Exceptions: py::error_already_set and py::cast_error for wrong attributes. REQUIRES: the GIL is
// held.
absl::Status register_python_metrics(const pybind11::dict& metrics);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_METRIC_H_
