// The values that a model reports with a step.
#ifndef MILLRACE_FRAMEWORK_LOOP_STEP_VALUES_H_
#define MILLRACE_FRAMEWORK_LOOP_STEP_VALUES_H_

#include <vector>

#include "framework/model/model.h"
#include "hook/events.h"

namespace millrace {

// Reduces the values of all micro-batches of a step, in their order, to one for each name. A name
// keeps the reduction of its first value. Detaches the tensors and reads none.
std::vector<StepValue> step_values(std::vector<NamedValue> reported);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_STEP_VALUES_H_
