// Tensors between C++ and Python, without copies.
#ifndef MILLRACE_PYTHON_TENSORS_H_
#define MILLRACE_PYTHON_TENSORS_H_

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/python_variable.h>

namespace millrace {

// Returns the torch.Tensor of a tensor; None if it is undefined. REQUIRES: the GIL is held.
inline pybind11::object to_python(const at::Tensor& tensor) {
  if (!tensor.defined()) return pybind11::none();
  PyObject* const object = THPVariable_Wrap(tensor);
  if (object == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(object);
}

// Returns the tensor of a torch.Tensor; undefined for every other object. REQUIRES: the GIL is
// held.
inline at::Tensor from_python(pybind11::handle object) {
  return THPVariable_Check(object.ptr()) ? THPVariable_Unpack(object.ptr()) : at::Tensor();
}

}  // namespace millrace

#endif  // MILLRACE_PYTHON_TENSORS_H_
