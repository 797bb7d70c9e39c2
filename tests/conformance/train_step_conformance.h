// The conformance suite of train steps.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "framework/loop/train_step.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// Returns the promises in the comment of class TrainStep, about the result and about the events
// that the observer of a step sees. The suite runs steps of `make`, a new object at each call, over
// a tiny model with a table, on one rank and on two.
std::vector<Property> train_step_properties(
    const std::function<std::unique_ptr<TrainStep>()>& make);

// Registers train_step_properties() as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kMyTrainStep = register_train_step_conformance(
//       "MyTrainStep", [] { return std::make_unique<MyTrainStep>(); });
bool register_train_step_conformance(const std::string& suite,
                                     const std::function<std::unique_ptr<TrainStep>()>& make,
                                     std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_CONFORMANCE_H_
