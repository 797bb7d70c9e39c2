// Multilayer perceptrons.
#ifndef MILLRACE_MODELS_MLP_H_
#define MILLRACE_MODELS_MLP_H_

#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <vector>

namespace millrace {

// Creates a multilayer perceptron: linear layers of these widths, each followed by ReLU and, in
// training, dropout; then, if `outputs` is above 0, a linear layer of width `outputs`. Maps float32
// [batch, inputs] to [batch, outputs or the last width]. Initial values are those of LibTorch:
// uniform in +-1/sqrt(inputs of the layer). REQUIRES: widths at least 1; dropout in [0, 1); at
// least one layer.
torch::nn::Sequential make_mlp(int64_t inputs, const std::vector<int64_t>& widths, int64_t outputs,
                               double dropout = 0);

}  // namespace millrace

#endif  // MILLRACE_MODELS_MLP_H_
