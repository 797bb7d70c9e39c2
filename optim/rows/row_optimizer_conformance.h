// The conformance suite of row optimizers.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CONFORMANCE_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "embedding/rows/row_optimizer.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// Makes the row optimizer under test, a new one at each call.
using MakeRowOptimizer = std::function<std::unique_ptr<RowOptimizer>()>;

// Returns the promises of RowOptimizer: slots whose names differ and which are the same at every
// call; results that depend neither on how rows are cut into calls, nor on other rows, nor on the
// instruction set, nor on other threads; a scale that acts like a scaled gradient; finite results;
// and weights that a learning rate of 0 does not change.
std::vector<Property> row_optimizer_properties(const MakeRowOptimizer& make);

// Registers them as tests of `suite`, see register_properties(). The formula of an optimizer needs
// tests of its own, see row_optimizer_testing.h.
//
//   [[maybe_unused]] const bool kLion =
//       register_row_optimizer_conformance("Lion", [] { return make_lion(); });
bool register_row_optimizer_conformance(
    const std::string& suite, const MakeRowOptimizer& make,
    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CONFORMANCE_H_
