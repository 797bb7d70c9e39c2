// Metrics whose classes are in Python.
#ifndef MILLRACE_PYTHON_PYTHON_METRIC_H_
#define MILLRACE_PYTHON_PYTHON_METRIC_H_

#include "absl/status/status.h"

namespace millrace {

// Registers the classes of current_run()->metrics under their names, for the rest of the process;
// a metric is made by the class of the run in progress. Errors: InvalidArgument for the name of a
// metric in C++. REQUIRES: the GIL is held.
absl::Status register_python_metrics();

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_METRIC_H_
