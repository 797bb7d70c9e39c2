// What every TrainStep must stand, as one call in its test.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_

#include <functional>
#include <memory>

#include "framework/train_step.h"

namespace millrace {

// Runs steps that `make` gives (a new one at each call) over a tiny model with a table and checks
// the list in the comment of class TrainStep, its result and what its observer sees:
//
//   TEST(MyTrainStepTest, Conformance) {
//     check_train_step([] { return std::make_unique<MyTrainStep>(); });
//   }
void check_train_step(const std::function<std::unique_ptr<TrainStep>()>& make);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_
