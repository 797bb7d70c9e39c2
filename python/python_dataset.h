// The data of a job, read from Python without a trainer.
#ifndef MILLRACE_PYTHON_PYTHON_DATASET_H_
#define MILLRACE_PYTHON_PYTHON_DATASET_H_

#include <pybind11/pybind11.h>

#include "io/batch.h"
#include "io/windowed_dataset.h"

namespace millrace {

// Returns a millrace.Batch or millrace.Window of `support`, the module millrace._training.
// REQUIRES: the GIL is held.
pybind11::object batch_to_python(const Batch& batch, const pybind11::object& support);
pybind11::object window_to_python(const Window& window, const pybind11::object& support);

// Adds the class DataReader to the extension; see python/millrace/_train.pyi.
void add_dataset_class(pybind11::module_& extension);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_DATASET_H_
