// Trains with parts that this file makes: examples in memory, a model with a table, optimizers and
// an evaluation set. The job has one process, or several with the variables RANK, WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT.
#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model_parts.h"
#include "framework/trainer.h"
#include "io/dataset.h"
#include "job/ranks.h"
#include "models/binary_output.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

// Examples [begin, end) of an endless list; ranks take batches in turn. The label is 1 if the sum
// of the example's number and a bias of its item is above 0.
class ExamplesInMemory : public Dataset {
 public:
  ExamplesInMemory(int64_t begin, int64_t end, const RankEnvironment& ranks)
      : first_(kBatch * ranks.rank), stride_(kBatch * ranks.world_size) {
    const at::Tensor index = at::arange(begin, end);
    items_ = index.remainder(10);
    numbers_ = index.remainder(7).to(at::kFloat).sub(3).div(3).unsqueeze(1);
    const at::Tensor bias = items_.ge(5).to(at::kFloat).sub(0.5).unsqueeze(1);
    labels_ = (numbers_ + bias).gt(0).to(at::kFloat);
  }

  absl::Status start_epoch(int64_t) override {
    next_ = first_;
    return absl::OkStatus();
  }
  absl::Status seek(absl::Span<const Cursor>) override {
    return absl::UnimplementedError("examples in memory have no positions");
  }
  absl::StatusOr<std::optional<Batch>> next() override {
    if (cancelled_) return absl::CancelledError("cancelled");
    if (next_ >= items_.numel()) return std::nullopt;
    Batch batch;
    batch.size = std::min(kBatch, items_.numel() - next_);
    batch.dense = numbers_.narrow(0, next_, batch.size);
    batch.labels = labels_.narrow(0, next_, batch.size);
    batch.sparse.values = items_.narrow(0, next_, batch.size);
    batch.sparse.offsets = at::arange(batch.size + 1);  // one item in each example
    batch.example_ids = at::arange(next_, next_ + batch.size);
    next_ += stride_;
    return batch;
  }
  void cancel() override { cancelled_ = true; }

 private:
  static constexpr int64_t kBatch = 32;
  const int64_t first_, stride_;
  at::Tensor items_, numbers_, labels_;
  int64_t next_ = 0;
  std::atomic<bool> cancelled_ = false;
};

// One linear layer over the number and the embedding of the item.
class ItemModel : public Model {
 public:
  explicit ItemModel(std::shared_ptr<EmbeddingCollection> items)
      : items_(register_module("items", std::move(items))),
        layer_(register_module("layer", torch::nn::Linear(1 + items_->pooled_dim(), 1))) {}

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ASSIGN_OR_RETURN(const EmbeddingOutput items, items_->forward(batch.sparse));
    return binary_output(layer_->forward(at::cat({batch.dense, items.pooled}, 1)).squeeze(1),
                         batch);
  }

 private:
  std::shared_ptr<EmbeddingCollection> items_;
  torch::nn::Linear layer_;
};

absl::StatusOr<std::unique_ptr<Trainer>> make_trainer(const RankEnvironment& ranks) {
  TrainerParts parts;
  JobConfig job;  // join_ranks compares its name, `train` and parts of `run` between the ranks
  job.mutable_run()->set_job_name("in_memory");
  ASSIGN_OR_RETURN(parts.collectives, join_ranks(ranks, job));

  EmbeddingCollectionOptions tables;
  tables.tables.emplace_back().set_name("items");
  tables.tables[0].set_dim(4);
  tables.features.push_back({"item", "items"});
  ASSIGN_OR_RETURN(const auto items, EmbeddingCollection::create(tables));
  at::manual_seed(1);  // all ranks must begin with the same parameters
  const auto model = std::make_shared<ItemModel>(items);

  DenseOptimizerConfig dense;
  dense.set_learning_rate(0.1);
  dense.mutable_adam();
  ASSIGN_OR_RETURN(parts.dense_optimizers, create_dense_optimizers({dense}, parameters_of(*model)));
  SparseOptimizerConfig sparse;
  sparse.set_learning_rate(0.1);
  sparse.mutable_adam();
  ASSIGN_OR_RETURN(parts.sparse_optimizer, SparseOptimizer::create(sparse, collections_of(*model)));

  parts.model = model;
  parts.train_data = std::make_unique<ExamplesInMemory>(0, 640, ranks);
  parts.evaluation_sets.push_back({"eval", std::make_unique<ExamplesInMemory>(640, 800, ranks)});
  TrainerOptions options;
  options.max_epochs = 20;
  return Trainer::create(std::move(options), std::move(parts));
}

absl::Status train() {
  ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, make_trainer(ranks));
  ASSIGN_OR_RETURN(const Summary summary, trainer->train());
  ASSIGN_OR_RETURN(EvaluationResult result, trainer->evaluate("eval"));
  if (ranks.rank > 0) return absl::OkStatus();
  std::cout << "steps " << summary.progress.step << ", examples " << result.examples << ", auc "
            << result.metrics["auc"] << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace millrace

int main() {
  const absl::Status status = millrace::train();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
