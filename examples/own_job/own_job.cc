// A model and a hook of one's own. The BUILD file makes a program of them.
#include <ATen/ops/cat.h>

#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "examples/own_job/own_job.pb.h"
#include "framework/hook_registry.h"
#include "framework/model.h"
#include "framework/model_registry.h"
#include "models/binary_output.h"
#include "models/mlp.h"

namespace millrace {

// One hidden layer over the dense features and the pooled embeddings.
class OneLayer : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig&,
                                                       const ModelResources& resources) {
    auto model = std::make_shared<OneLayer>();
    ASSIGN_OR_RETURN(model->embeddings_, EmbeddingCollection::create(resources.embeddings));
    const int64_t inputs = resources.schema.dense().size() + model->embeddings_->pooled_dim();
    model->layers_ = make_mlp(inputs, {64}, 1);
    model->register_module("embeddings", model->embeddings_);
    model->register_module("layers", model->layers_);
    return model;
  }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ASSIGN_OR_RETURN(EmbeddingOutput rows, embeddings_->forward(batch.sparse));
    at::Tensor logits = layers_->forward(at::cat({batch.dense, rows.pooled}, 1));
    return binary_output(logits.squeeze(1), batch);
  }

 private:
  std::shared_ptr<EmbeddingCollection> embeddings_;
  torch::nn::Sequential layers_;
};
MILLRACE_REGISTER_MODEL(one_layer, &OneLayer::create, ModelLabels::kProbabilities);

// Ends training at the first report in which a metric is good enough.
class TargetMetricHook : public Hook {
 public:
  explicit TargetMetricHook(const TargetMetricConfig& config) : config_(config) {}
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources&) {
    return std::make_unique<TargetMetricHook>(config.GetExtension(target_metric));
  }

  absl::string_view name() const override { return "target_metric"; }
  absl::Status after_report(HookContext& context, const Report& report) override {
    const auto found = report.metrics.find(config_.metric());
    if (found == report.metrics.end()) return absl::NotFoundError("no metric " + config_.metric());
    if (found->second >= config_.at_least()) context.requests().stop(config_.metric() + " reached");
    return absl::OkStatus();
  }

 private:
  const TargetMetricConfig config_;
};
MILLRACE_REGISTER_HOOK(target_metric, "stops when a metric is reached", &TargetMetricHook::create);

}  // namespace millrace
