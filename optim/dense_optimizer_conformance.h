// The conformance suite of dense optimizers.
#ifndef MILLRACE_OPTIM_DENSE_OPTIMIZER_CONFORMANCE_H_
#define MILLRACE_OPTIM_DENSE_OPTIMIZER_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// Makes the optimizer under test of these parameters at a constant rate, a new object at each call.
using MakeDenseOptimizer = std::function<std::unique_ptr<DenseOptimizer>(
    std::vector<NamedParameter> parameters, double learning_rate)>;

// Returns the promises of DenseOptimizer: the names of its parameters and the rate that the factory
// passed; steps that change parameters, stay finite, and are equal for equal gradients; parameters
// that stay the same bits without a gradient, and all parameters at a rate of 0; zero_grad() that
// leaves gradients undefined; state with names "<parameter>/<field>" in the order of the
// parameters, from which a second optimizer continues bit for bit; load_state() that copies, and
// accepts a state exactly if state_differences() is empty: unknown, missing and repeated names and
// other types and shapes are refused, and nothing changes then.
std::vector<Property> dense_optimizer_properties(const MakeDenseOptimizer& make);

// Registers dense_optimizer_properties() as tests of `suite`, see register_properties(). The
// formula of an optimizer needs separate tests.
//
//   [[maybe_unused]] const bool kSignSgd = register_dense_optimizer_conformance(
//       "SignSgd", [](std::vector<NamedParameter> parameters, double rate) {
//         return make_sign_sgd(std::move(parameters), rate);
//       });
bool register_dense_optimizer_conformance(
    const std::string& suite, const MakeDenseOptimizer& make,
    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_OPTIMIZER_CONFORMANCE_H_
