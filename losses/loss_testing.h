// Losses, examples and outputs for tests.
#ifndef MILLRACE_LOSSES_LOSS_TESTING_H_
#define MILLRACE_LOSSES_LOSS_TESTING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "losses/loss.h"

namespace millrace {

// Creates the loss of a TaskConfig in text format. REQUIRES: the text is valid.
std::unique_ptr<Loss> make_test_loss(const std::string& task);

// Returns examples that depend only on `seed`, in float64: labels 0 and 1, about five per group;
// weights in [0, 2), one weight 0.
LossExamples loss_test_examples(uint64_t seed, int64_t size, bool weighted);

// Returns outputs in [-8, 8) that depend only on `seed`, float64 [size].
at::Tensor loss_test_outputs(uint64_t seed, int64_t size);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_TESTING_H_
