// Comparison of losses with plain formulas.
#ifndef MILLRACE_LOSSES_LOSS_TESTING_H_
#define MILLRACE_LOSSES_LOSS_TESTING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "losses/loss.h"

namespace millrace {

// Makes the loss of a TaskConfig in text format. REQUIRES: it is valid.
std::unique_ptr<Loss> make_test_loss(const std::string& task);

// Examples that follow from `seed`, in float64: labels 0 and 1, of about five to a group; weights
// in [0, 2), one of them 0.
LossExamples loss_test_examples(uint64_t seed, int64_t size, bool weighted);

// Returns outputs in [-8, 8) that follow from `seed`, float64 [size].
at::Tensor loss_test_outputs(uint64_t seed, int64_t size);

// The same loss by a formula of its own in float64, from which autograd can derive a gradient.
using PlainLoss = std::function<at::Tensor(const at::Tensor& outputs, const LossExamples&)>;

// Checks what every loss must hold: its sum and gradient equal those of `plain` within 1e-9 in
// float64 and 1e-5 in float32, with and without weights, on examples that `change`, if given, has
// changed; sums and gradients are finite for outputs of +-1000; without examples the sum is 0 and
// there are no targets; targets_are_examples() tells the truth; the order of examples does not
// matter.
void test_loss_conformance(const Loss& loss, const PlainLoss& plain,
                           const std::function<void(LossExamples&)>& change = nullptr);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_TESTING_H_
