#include "losses/group_losses.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "losses/example_groups.h"
#include "losses/weighted_sum.h"

namespace millrace {
namespace {

at::Tensor as_floats(const at::Tensor& labels) {
  return labels.to(at::kCPU, at::kFloat).contiguous();
}

// Places of the examples of pairs, of which the first has the higher label.
struct Pairs {
  std::vector<int64_t> above, below;
};

at::Tensor sum_pairs(const at::Tensor& outputs, const at::Tensor& weights, const Pairs& pairs) {
  const at::Tensor i = at::tensor(pairs.above, at::kLong).to(outputs.device());
  const at::Tensor j = at::tensor(pairs.below, at::kLong).to(outputs.device());
  const at::Tensor losses =
      -at::log_sigmoid(outputs.index_select(0, i) - outputs.index_select(0, j));
  if (!weights.defined()) return losses.sum();
  return weighted_sum(losses, weights.index_select(0, i) * weights.index_select(0, j));
}

// The sum over blocks of pairs, with its gradient. No graph holds the pairs of all blocks.
class BlockwisePairSum {
 public:
  BlockwisePairSum(const at::Tensor& outputs, const at::Tensor& weights)
      : outputs_(outputs),
        weights_(weights),
        sum_(at::zeros({}, outputs.options().dtype(at::kDouble))),
        gradient_(at::zeros_like(outputs.detach())) {}

  void add(const Pairs& pairs) {
    const at::AutoGradMode with_graph(outputs_.requires_grad());
    const at::Tensor leaf = outputs_.detach().requires_grad_(outputs_.requires_grad());
    const at::Tensor sum = sum_pairs(leaf, weights_, pairs);
    if (outputs_.requires_grad()) {
      sum.backward();
      gradient_ += leaf.grad();
    }
    sum_ += sum.detach();
  }

  // Returns a tensor with the value of the sum, through which its gradient flows.
  at::Tensor result() const {
    return sum_.to(outputs_.scalar_type()) + ((outputs_ - outputs_.detach()) * gradient_).sum();
  }

 private:
  const at::Tensor outputs_;
  const at::Tensor weights_;
  at::Tensor sum_;  // float64
  at::Tensor gradient_;
};

}  // namespace

at::Tensor PairwiseLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const at::Tensor labels = as_floats(examples.labels);
  const float* const label = labels.const_data_ptr<float>();
  const ExampleGroups groups(examples.group_ids);
  Pairs pairs;
  std::optional<BlockwisePairSum> blocks;  // once there are more than pairs_at_once_
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const int64_t i : groups.examples(group)) {
      for (const int64_t j : groups.examples(group)) {
        if (!(label[i] > label[j])) continue;
        if (pairs.above.size() == pairs_at_once_) {
          if (!blocks.has_value()) blocks.emplace(outputs, examples.weights);
          blocks->add(std::exchange(pairs, {}));
        }
        pairs.above.push_back(i);
        pairs.below.push_back(j);
      }
    }
  }
  if (!blocks.has_value()) return sum_pairs(outputs, examples.weights, pairs);
  blocks->add(pairs);
  return blocks->result();
}

int64_t PairwiseLoss::count_targets(const LossExamples& examples) const {
  const at::Tensor labels = as_floats(examples.labels);
  const float* const label = labels.const_data_ptr<float>();
  const ExampleGroups groups(examples.group_ids);
  int64_t pairs = 0;
  std::vector<float> sorted;
  for (size_t group = 0; group < groups.size(); ++group) {
    sorted.clear();
    for (const int64_t i : groups.examples(group)) sorted.push_back(label[i]);
    std::sort(sorted.begin(), sorted.end());
    int64_t lower = 0;  // number of labels below the current label
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0 && sorted[i] > sorted[i - 1]) lower = static_cast<int64_t>(i);
      pairs += lower;
    }
  }
  return pairs;
}

at::Tensor SoftmaxLoss::sum(const at::Tensor& outputs, const LossExamples& examples) const {
  const ExampleGroups groups(examples.group_ids);
  const auto count = static_cast<int64_t>(groups.size());
  std::vector<int64_t> group_of(static_cast<size_t>(outputs.size(0)));
  for (int64_t group = 0; group < count; ++group) {
    for (const int64_t i : groups.examples(static_cast<size_t>(group))) group_of[i] = group;
  }
  const at::Tensor index = at::tensor(group_of, at::kLong).to(outputs.device());
  const at::Tensor scaled = outputs / temperature_;
  // Outputs minus the maximum of their group, so that no exponential overflows.
  const at::Tensor greatest =
      at::full({count}, -std::numeric_limits<double>::infinity(), outputs.options())
          .scatter_reduce(0, index, scaled.detach(), "amax");
  const at::Tensor shifted = scaled - greatest.index_select(0, index);
  const at::Tensor log_sums =
      at::zeros({count}, outputs.options()).index_add(0, index, shifted.exp()).log();
  const at::Tensor losses =
      examples.labels.to(outputs.scalar_type()) * (log_sums.index_select(0, index) - shifted);
  return weighted_sum(losses, examples.weights);
}

int64_t SoftmaxLoss::count_targets(const LossExamples& examples) const {
  const at::Tensor labels = examples.labels.to(at::kCPU, at::kFloat).contiguous();
  const float* const label = labels.const_data_ptr<float>();
  const ExampleGroups groups(examples.group_ids);
  int64_t count = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    const absl::Span<const int64_t> places = groups.examples(group);
    count += std::any_of(places.begin(), places.end(), [&](int64_t i) { return label[i] > 0; });
  }
  return count;
}

}  // namespace millrace
