// Checkpoints, read from Python.
#ifndef MILLRACE_PYTHON_PYTHON_CHECKPOINT_H_
#define MILLRACE_PYTHON_PYTHON_CHECKPOINT_H_

#include <pybind11/pybind11.h>

namespace millrace {

// Adds the class CheckpointFile to the extension; see python/millrace/_train.pyi.
void add_checkpoint_class(pybind11::module_& extension);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_CHECKPOINT_H_
