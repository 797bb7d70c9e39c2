#include "losses/loss_testing.h"

#include <ATen/ATen.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "losses/loss_registry.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

// Uniform in [0, 1).
double uniform(uint64_t seed, uint64_t stream, int64_t i) {
  return uniform24(philox(seed, stream, static_cast<uint64_t>(i))[0]);
}

}  // namespace

std::unique_ptr<Loss> make_test_loss(const std::string& task) {
  TaskConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(task, &config)) << task;
  absl::StatusOr<std::unique_ptr<Loss>> loss = create_loss(config);
  EXPECT_OK(loss);
  return *std::move(loss);
}

LossExamples loss_test_examples(uint64_t seed, int64_t size, bool weighted) {
  std::vector<double> labels, weights;
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < size; ++i) {
    labels.push_back(uniform(seed, 0, i) < 0.4 ? 1 : 0);
    weights.push_back(i == 3 ? 0 : 2 * uniform(seed, 1, i));
    groups.push_back(static_cast<int64_t>(uniform(seed, 2, i) * static_cast<double>(size) / 5));
  }
  LossExamples examples;
  examples.labels = at::tensor(labels, at::kDouble);
  if (weighted) examples.weights = at::tensor(weights, at::kDouble);
  examples.group_ids = at::tensor(groups, at::kLong);
  return examples;
}

at::Tensor loss_test_outputs(uint64_t seed, int64_t size) {
  std::vector<double> outputs;
  for (int64_t i = 0; i < size; ++i) outputs.push_back(16 * uniform(seed, 3, i) - 8);
  return at::tensor(outputs, at::kDouble);
}

}  // namespace millrace
