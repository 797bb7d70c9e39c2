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

// Creates a new object of the row optimizer under test.
using MakeRowOptimizer = std::function<std::unique_ptr<RowOptimizer>()>;

// Returns the promises of RowOptimizer: slots with different names, equal at every call; results
// that do not depend on the division of rows into calls, on other rows, on the instruction set or
// on other threads; a scale that acts like a scaled gradient; finite results; and weights that a
// learning rate of 0 does not change.
std::vector<Property> row_optimizer_properties(const MakeRowOptimizer& make);

// Registers row_optimizer_properties() as tests of `suite`, see register_properties(). The formula
// of an optimizer needs separate tests, see row_optimizer_testing.h.
//
//   [[maybe_unused]] const bool kLion =
//       register_row_optimizer_conformance("Lion", [] { return make_lion(); });
bool register_row_optimizer_conformance(
    const std::string& suite, const MakeRowOptimizer& make,
    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_CONFORMANCE_H_
