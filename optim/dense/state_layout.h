// Names, types and shapes of the state of an optimizer.
#ifndef MILLRACE_OPTIM_DENSE_STATE_LAYOUT_H_
#define MILLRACE_OPTIM_DENSE_STATE_LAYOUT_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "optim/dense/named_parameter.h"

namespace millrace {

// The state of one parameter. A parameter has all fields or none.
struct StateLayout {
  struct Field {
    std::string name;
    // If true, the field is an int64 []; else a tensor of the type and shape of the parameter.
    bool is_count = false;
  };

  std::vector<Field> fields;
  // If true, each parameter has state before its first gradient.
  bool always_there = false;
};

// Compares `state`, tensors named "<parameter>/<field>", with the layout of these parameters.
// Returns the result of DenseOptimizer::state_differences().
std::vector<std::string> state_differences(const StateLayout& layout,
                                           const std::vector<NamedParameter>& parameters,
                                           const std::vector<NamedParameter>& state);

// Returns the fields of each parameter in the order of the layout; none for a parameter that
// `state` omits. REQUIRES: state_differences() is empty.
std::vector<std::vector<at::Tensor>> deal_out_state(const StateLayout& layout,
                                                    const std::vector<NamedParameter>& parameters,
                                                    const std::vector<NamedParameter>& state);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_STATE_LAYOUT_H_
