// Predictions from Python, without a trainer.
#ifndef MILLRACE_PYTHON_PYTHON_PREDICTOR_H_
#define MILLRACE_PYTHON_PYTHON_PREDICTOR_H_

#include <pybind11/pybind11.h>

namespace millrace {

// Adds the class ServedModel to the extension; see python/millrace/_train.pyi.
void add_predictor_class(pybind11::module_& extension);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_PREDICTOR_H_
