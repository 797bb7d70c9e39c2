// The state of a collection between two updates.
#ifndef MILLRACE_EMBEDDING_COLLECTION_STEP_H_
#define MILLRACE_EMBEDDING_COLLECTION_STEP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "embedding/embedding_output.h"
#include "embedding/table/step_lookups.h"
#include "embedding/table/step_plan.h"

namespace millrace {

// One forward call in training.
struct ForwardCall {
  std::vector<at::Tensor> gradients;        // of each output; undefined if there is none
  std::vector<int64_t> versions;            // of each gradient at the end of its backward pass
  std::vector<std::vector<int64_t>> sizes;  // of each output
  std::vector<int64_t> lookup;  // of each feature: number of its lookup in its table; -1: frozen
};

// The step of an EmbeddingCollection. Autograd graphs hold weak references, since they may outlive
// the collection.
struct CollectionStep {
  std::vector<std::unique_ptr<StepPlan>> plans;  // of each table
  std::vector<StepLookups*> in_table;  // of each table: its plan's; its requests' if sharded
  std::vector<int64_t> table_of;       // of each feature
  std::shared_ptr<const std::vector<FeaturePlace>> places;  // shared with the collection

  std::vector<ForwardCall> calls;
  int64_t number = 0;  // number of steps begun
  int64_t ids = 0;
  absl::Status error;  // the first error of forward and backward passes

  void keep(absl::Status status) {
    if (error.ok()) error = std::move(status);
  }
  // Begins the next step. Does not change the plans.
  void end();
  // Adds the gradient of an output of a call. Errors: Unimplemented for second derivatives;
  // InvalidArgument for another type, layout or shape than the output.
  absl::Status add_gradient(ForwardCall& call, int64_t output, const at::Tensor& gradient);
  // Checks that no gradient has changed since its backward pass. Errors: FailedPrecondition.
  absl::Status check_versions() const;
  // Returns the features of an output and their tables, for messages.
  std::string name_of(int64_t output) const;
};

// Makes `outputs` the results of a node of the autograd graph. The backward pass of the node adds
// the gradients of the outputs to the step. The node is a root, since tables are not tensors.
void connect_backward(const std::shared_ptr<CollectionStep>& step, int64_t call,
                      std::vector<at::Tensor>& outputs);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_STEP_H_
