// The conformance suite of losses.
#ifndef MILLRACE_LOSSES_LOSS_CONFORMANCE_H_
#define MILLRACE_LOSSES_LOSS_CONFORMANCE_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "losses/loss.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// A loss by a second formula in float64; autograd derives its gradient.
using PlainLoss = std::function<at::Tensor(const at::Tensor& outputs, const LossExamples&)>;

struct LossConformance {
  // Creates a new object of the loss under test.
  std::function<std::unique_ptr<Loss>()> make;
  // The reference for sum().
  PlainLoss plain;
  // Changes the examples, whose labels are 0 and 1, see loss_test_examples(). Default: no change.
  std::function<void(LossExamples&)> change = nullptr;
};

// Returns the promises of Loss, each with and without weights: sum and gradient equal those of
// `plain` within 1e-9 in float64 and 1e-5 in float32; both are finite for outputs of +-1000;
// without examples the sum is 0 and there are no targets; the order of examples does not matter;
// targets_are_examples() and needs_groups() describe the loss correctly; predictions have the shape
// of the outputs and are in [0, 1] if they are probabilities; sums are equal on all threads.
std::vector<Property> loss_properties(const LossConformance& conformance);

// Registers loss_properties() as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kFocal = register_loss_conformance(
//       "Focal", {.make = [] { return make_test_loss("focal {}"); }, .plain = focal(2)});
bool register_loss_conformance(const std::string& suite, const LossConformance& conformance,
                               std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_CONFORMANCE_H_
