// Small models for tests of the loop.
#ifndef MILLRACE_TESTS_FAKES_TINY_MODEL_H_
#define MILLRACE_TESTS_FAKES_TINY_MODEL_H_

#include <functional>
#include <memory>
#include <vector>

#include "embedding/embedding_collection.h"
#include "framework/model/model.h"

namespace millrace {

// Logistic regression on dense features, plus, if `collection` is not null, the sum over its pooled
// output. `on_forward`, if set, is called first in each forward pass: its error is returned, and it
// may throw.
class TinyModel : public Model {
 public:
  TinyModel(int64_t dense, std::shared_ptr<EmbeddingCollection> collection = nullptr);
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override;
  absl::StatusOr<std::vector<TableLookup>> lookups(const Batch& batch) override;

  std::function<absl::Status(const Batch&)> on_forward;
  // If set, may change the result of a forward pass.
  std::function<void(ModelOutput&)> on_output;
  // If set, called with the lookups of each batch, and may change them. Errors are returned.
  std::function<absl::Status(std::vector<TableLookup>&)> on_lookups;
  // If set, changes the gradient of the pooled output.
  std::function<at::Tensor(at::Tensor)> on_pooled_gradient;
  // If true, returns targets (half the examples) instead of undefined targets.
  bool gives_targets = false;
  // If true, has a task for each label, with the logit times 1, 2, ..., and counts the labels that
  // are numbers as targets.
  bool counts_targets = false;

 private:
  at::Tensor loss(const at::Tensor& logits, const Batch& batch) const;

  at::Tensor weight_;
  at::Tensor bias_;
  std::shared_ptr<EmbeddingCollection> collection_;  // shared with the module tree
};

// Returns every parameter and buffer of a module as bytes, and the content digests of its tables.
std::string fingerprint(torch::nn::Module& module);

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_TINY_MODEL_H_
