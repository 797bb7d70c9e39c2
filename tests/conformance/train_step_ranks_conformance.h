// The part of check_train_step() that needs two ranks.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_

#include "tests/conformance/train_step_bench.h"

namespace millrace::train_step_testing {

// Runs steps of two ranks whose model has a table over both.
void check_train_step_on_ranks(const MakeStep& make);

}  // namespace millrace::train_step_testing

#endif  // MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_RANKS_CONFORMANCE_H_
