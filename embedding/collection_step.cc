#include "embedding/collection_step.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "embedding/collection_input.h"

namespace millrace {
namespace {

// Returns a number that changes with every in-place operation; 0 for inference tensors, which have
// none.
int64_t version_of(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : static_cast<int64_t>(tensor._version());
}

// Returns a gradient as contiguous float32 on the CPU. Copies memory with another handle and
// inference tensors: an in-place change through another handle may not change the version, and
// inference tensors have no version.
absl::StatusOr<at::Tensor> owned_gradient(const at::Tensor& gradient, at::IntArrayRef sizes) {
  if (gradient.requires_grad()) {
    return absl::UnimplementedError("second derivatives of embeddings");
  }
  if (gradient.scalar_type() != at::kFloat || gradient.layout() != at::kStrided ||
      gradient.sizes() != sizes) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient ", type_and_shape(gradient),
                                                   "; Float [", absl::StrJoin(sizes, ", "),
                                                   "], like the output, is due"));
  }
  if (!gradient.is_cpu()) {
    // A copy to pinned memory needs no intermediate buffer. It waits for the device.
    at::Tensor result = at::empty(sizes, at::TensorOptions(at::kFloat).pinned_memory(true));
    return result.copy_(gradient);
  }
  at::Tensor result = gradient.contiguous();
  const bool shared =
      result.is_same(gradient) && (result.storage().use_count() > 1 || result.is_inference());
  return shared ? result.clone() : result;
}

// The node of one forward call in the autograd graph. A root of the graph, since tables are not
// tensors.
class Backward : public torch::autograd::Node {
 public:
  Backward(std::weak_ptr<CollectionStep> step, int64_t number, int64_t call)
      : step_(std::move(step)), number_(number), call_(call) {}

  std::string name() const override { return "EmbeddingCollectionBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const std::shared_ptr<CollectionStep> step = step_.lock();
    if (step == nullptr) return {};
    if (step->number != number_) {
      step->keep(absl::FailedPreconditionError(
          "backward pass through embeddings of a step that has ended"));
      return {};
    }
    ForwardCall& call = step->calls[call_];
    for (size_t output = 0; output < gradients.size(); ++output) {
      if (!gradients[output].defined()) continue;
      absl::Status added = step->add_gradient(call, output, gradients[output]);
      if (!added.ok()) {
        step->keep(annotate(std::move(added),
                            absl::StrCat("backward pass of embeddings, ", step->name_of(output))));
      }
    }
    return {};
  }

 private:
  std::weak_ptr<CollectionStep> step_;
  const int64_t number_;
  const int64_t call_;
};

// LibTorch 2.13 counts the users of a node within the node (intrusive_ptr); 2.11 (docs/cuda.md)
// counts them outside of it (shared_ptr).
using NodePointer = decltype(torch::autograd::Edge::function);

template <typename Node, typename Pointer, typename... Arguments>
Pointer make_node(const Arguments&... arguments) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<typename Pointer::element_type>>) {
    return std::make_shared<Node>(arguments...);
  } else {
    return c10::make_intrusive<Node>(arguments...);
  }
}

}  // namespace

void CollectionStep::end() {
  calls.clear();
  ids = 0;
  error = absl::OkStatus();
  ++number;
}

absl::Status CollectionStep::check_versions() const {
  for (const ForwardCall& call : calls) {
    for (size_t i = 0; i < call.gradients.size(); ++i) {
      if (!call.gradients[i].defined()) continue;
      if (version_of(call.gradients[i]) == call.versions[i]) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the gradient of ", name_of(static_cast<int64_t>(i)),
                       " was changed in place after the backward pass; change a copy"));
    }
  }
  return absl::OkStatus();
}

std::string CollectionStep::name_of(int64_t output) const {
  std::vector<absl::string_view> features, tables;
  for (size_t f = 0; f < places->size(); ++f) {
    if ((*places)[f].output_number() != output) continue;
    features.push_back((*places)[f].name);
    tables.push_back(plans[table_of[f]]->table().name());
  }
  return absl::StrCat(output == 0 ? "pooled " : "", features_of_tables(features, tables));
}

absl::Status CollectionStep::add_gradient(ForwardCall& call, int64_t output,
                                          const at::Tensor& gradient) {
  ASSIGN_OR_RETURN(at::Tensor owned, owned_gradient(gradient, call.sizes[output]));
  at::Tensor& kept = call.gradients[output];
  kept = kept.defined() ? kept.add(owned) : owned;  // a second backward pass through one graph
  call.versions[output] = version_of(kept);
  const float* data = kept.const_data_ptr<float>();
  for (size_t f = 0; f < places->size(); ++f) {
    const FeaturePlace& place = (*places)[f];
    if (call.lookup[f] < 0) continue;  // its table is frozen
    if (output != place.output_number()) continue;
    in_table[table_of[f]]->set_gradient(call.lookup[f], data + place.first_column(), kept.size(1));
  }
  return absl::OkStatus();
}

void connect_backward(const std::shared_ptr<CollectionStep>& step, int64_t call,
                      std::vector<at::Tensor>& outputs) {
  const auto node = make_node<Backward, NodePointer>(step, step->number, call);
  for (at::Tensor& output : outputs) torch::autograd::set_history(output, node);
}

}  // namespace millrace
