// The conformance suite of hooks.
#ifndef MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "hook/hook.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct HookConformance {
  // Creates a hook in its usual form, a new object at each call. Several hooks exist at a time, at
  // most one of them between start and end.
  std::function<std::unique_ptr<Hook>()> make;
  // If true, the hook may change the trained model: it belongs in train.hooks rather than
  // run.hooks.
  bool changes_result = false;
  // If true, a process may start only one hook: omits properties that need a hook on each of two
  // ranks. Instances on two ranks run on two threads.
  bool one_per_process = false;
};

// Returns the promises of a hook, which the suite adds to trainers of a tiny model (two dense
// features, one table "items" of dim 4, an evaluation set "eval"):
//  * the name is not empty, stays the same, and is the name of every instance;
//  * the hook survives two epochs with micro-batches, evaluations and reports; evaluate() alone; a
//    second train() of one trainer without a step; a stop by a common request and by a request of
//    this rank; data without examples;
//  * the hook survives a refused (non-finite) step, or ends the run with its own error;
//  * on two ranks with unequal data the run ends as without the hook: both ranks return OK and stop
//    at the same step. A hook that makes a common request on a single rank fails here;
//  * a function that was passed to Requests::before_exchange does no harm, also after `end`;
//  * an error of the model is the same as without the hook, and `end` returns OK then;
//  * unless changes_result, the trained model equals, bit for bit, a model trained without the
//    hook;
//  * `end` without `start`, and destruction in every state, do no harm;
//  * after each step and after `end`, save_state, load_state into a new instance and save_state
//    again give equal bytes; load_state accepts an empty state, and either accepts or refuses
//    damaged states: a hook that refused keeps its state, a hook that accepted still trains.
std::vector<Property> hook_properties(const HookConformance& conformance);

// Registers hook_properties() as tests of `suite`, see register_properties(). A hook's test depends
// on //:hook_conformance. The purpose of a hook needs separate tests.
//
//   [[maybe_unused]] const bool kMyHook = register_hook_conformance(
//       "MyHook", {.make = [] { return std::make_unique<MyHook>(MyOptions()); }});
bool register_hook_conformance(const std::string& suite, const HookConformance& conformance,
                               std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_
