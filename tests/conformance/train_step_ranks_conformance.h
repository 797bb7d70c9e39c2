// The promises of train_step_properties() that need two ranks.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_

#include <vector>

#include "tests/conformance/property_suite.h"
#include "tests/conformance/train_step_bench.h"

namespace millrace::train_step_testing {

// Returns the promises of steps on two ranks whose model has a table over both.
std::vector<Property> train_step_ranks_properties(const MakeStep& make);

}  // namespace millrace::train_step_testing

#endif  // MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_
