#include "models/mlp.h"

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

namespace millrace {

torch::nn::Sequential make_mlp(int64_t inputs, const std::vector<int64_t>& widths, int64_t outputs,
                               double dropout) {
  torch::nn::Sequential layers;
  for (const int64_t width : widths) {
    layers->push_back(torch::nn::Linear(inputs, width));
    layers->push_back(torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)));
    if (dropout > 0) layers->push_back(torch::nn::Dropout(dropout));
    inputs = width;
  }
  if (outputs > 0) layers->push_back(torch::nn::Linear(inputs, outputs));
  return layers;
}

}  // namespace millrace
