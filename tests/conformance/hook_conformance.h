// What every hook must stand, as one call in its test.
#ifndef MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_

#include <functional>
#include <memory>

#include "framework/hook.h"

namespace millrace {

struct HookConformance {
  // Makes a hook as it is used, a new one at each call. Several exist at a time, of which one at
  // most is between start and end.
  std::function<std::unique_ptr<Hook>()> make;
  // Whether it may change what the model becomes: a hook of train.hooks rather than run.hooks.
  bool changes_result = false;
  // Whether only one may be started in a process: leaves out what needs a hook for each of two
  // ranks. Instances on two ranks run on two threads.
  bool one_per_process = false;
};

// Puts the hook into trainers over a tiny model (two dense features, one table "items" of dim 4,
// an evaluation set "eval") and checks, with GoogleTest's assertions, that
//  * its name is not empty, stays what it is, and is that of every instance;
//  * it survives two epochs with micro-batches, evaluations and reports; evaluate() alone; being
//    trained twice by one trainer, the second time without a step; a stop by a common request and
//    by one of this rank; data without examples;
//  * it survives a refused (non-finite) step, or ends the run with an error of its own;
//  * on two ranks with unequal data all ends as it would without it: both are fine, and stop at the
//    same step (a hook that makes a common request on one rank alone is found so);
//  * what it gave to Requests::before_exchange does no harm, also after `end`;
//  * a failing model's error comes out as it would without the hook, and `end` returns OK then;
//  * unless changes_result, the trained model equals, bit for bit, one trained without the hook;
//  * `end` without `start`, and destruction in every state, do no harm;
//  * after each step and after `end`, save_state, load_state into a fresh instance and save_state
//    again give equal bytes; load_state accepts no state at all, and either accepts or refuses
//    damaged ones: a hook that refused still has the state it had, one that accepted still trains.
//
// A hook's test links //tests/conformance:hook_conformance and says
//
//   TEST(MyHookTest, Conformance) {
//     check_hook({.make = [] { return std::make_unique<MyHook>(MyOptions()); }});
//   }
//
// What the hook is for needs tests of its own.
void check_hook(const HookConformance& conformance);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_HOOK_CONFORMANCE_H_
