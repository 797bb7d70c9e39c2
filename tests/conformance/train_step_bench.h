// A step under test with all its inputs.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_BENCH_H_
#define MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_BENCH_H_

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "framework/model/model_output.h"
#include "framework/ranks/table_exchange.h"
#include "optim/gradient_clipping.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace::train_step_testing {

using MakeStep = std::function<std::unique_ptr<TrainStep>()>;

// Records the events of a step, and fails at one event chosen by a test.
class Watching : public StepObserver {
 public:
  absl::Status after_data(const Batch&, int64_t micro_batch) override {
    events.push_back(absl::StrCat("after_data(", micro_batch, ")"));
    return events.back() == fail_at ? absl::AbortedError("planted") : absl::OkStatus();
  }
  void after_backward(const Gradients& gradients) override {
    events.push_back("after_backward");
    for (const NamedParameter& parameter : gradients.dense()) {
      const at::Tensor gradient = parameter.value.grad();
      dense.push_back(gradient.defined() ? gradient.clone() : gradient);
    }
    sparse_norm_squared = gradients.sparse_norm_squared();
  }

  std::vector<std::string> events;
  std::string fail_at;
  std::vector<at::Tensor> dense;
  double sparse_norm_squared = 0;
};

// Returns batches of FakeDataset with two ids for each example. Batch `nan_at` is not finite.
std::vector<Batch> batches(int64_t count, int64_t size, int64_t nan_at = -1);

GradientClipping clipping_by_norm(double max_norm);

// A model, its optimizers and the step under test.
class Bench {
 public:
  // `collectives`: one rank if null. With several ranks, the table is over ranks.
  explicit Bench(const MakeStep& make, std::string optimizer = "adam",
                 std::unique_ptr<Collectives> collectives = nullptr)
      : step_(make()),
        collectives_(collectives == nullptr ? std::make_unique<OneRankCollectives>()
                                            : std::move(collectives)),
        agreement_(*collectives_, requests_, {}, /*tasks=*/0, /*tables=*/1) {
    rank = collectives_->rank();
    TinyTrainerOptions options;
    options.train.sparse = 2;
    options.optimizer = std::move(optimizer);
    parts_ = tiny_parts(options);
    for (const auto& parameter : parts_.model->named_parameters()) {
      parameters_.push_back({parameter.key(), parameter.value()});
    }
    const std::vector<EmbeddingCollection*> collections = collections_of(*parts_.model);
    const int world_size = collectives_->world_size();
    if (world_size > 1) {
      EXPECT_OK(collections[0]->shard({rank, world_size}));
    }
    tables_.emplace(agreement_, *parts_.model, collections);
    commit_.emplace(agreement_, parameters_, &*tables_);
    parts_.model->train();
  }

  // Makes a step of these micro-batches. Progress advances if the step was applied.
  absl::StatusOr<StepResult> run(const std::vector<Batch>& micro_batches) {
    int64_t examples = 0;
    for (const Batch& batch : micro_batches) examples += batch.size;
    return run(micro_batches, examples, targets_of(micro_batches));
  }

  // Returns the model's count of targets in all batches.
  std::vector<int64_t> targets_of(const std::vector<Batch>& batches) {
    std::vector<int64_t> targets;
    for (const Batch& batch : batches) {
      const std::vector<int64_t> counted = *count_targets(model(), batch);
      targets.resize(counted.size());
      for (size_t task = 0; task < counted.size(); ++task) targets[task] += counted[task];
    }
    return targets;
  }

  absl::StatusOr<StepResult> run(const std::vector<Batch>& micro_batches, int64_t examples,
                                 const std::vector<int64_t>& targets = {}) {
    const TrainStepParts parts{*parts_.model,
                               parameters_,
                               parts_.dense_optimizers,
                               parts_.sparse_optimizer.get(),
                               *commit_,
                               clipping.has_value() ? &*clipping : nullptr,
                               compute};
    RankShare share;
    share.rows = tables_->rows();
    agreement_.start({"step", progress.step}, share);
    commit_->begin_step(progress.step, targets.size());
    absl::StatusOr<StepResult> result = fetch(micro_batches);
    if (result.ok()) {
      result = step_->run(
          parts, {micro_batches, examples, progress, seed, rank, targets, loss_scale, on_device},
          observer);
    }
    if (!result.ok() && !commit_->decided()) commit_->fail(result.status()).IgnoreError();
    if (result.ok()) {
      EXPECT_TRUE(commit_->decided()) << "the commit exchange was not asked";
    }
    if (result.ok() && result->applied) ++progress.step;
    for (const NamedParameter& parameter : parameters_) {
      EXPECT_FALSE(parameter.value.grad().defined() &&
                   parameter.value.grad().count_nonzero().item<int64_t>() > 0)
          << "the gradient of " << parameter.name << " was not cleared";
    }
    return result;
  }

  TrainerParts& parts() { return parts_; }
  TinyModel& model() { return static_cast<TinyModel&>(*parts_.model); }
  // Returns the fingerprint of this rank's model.
  std::string state() { return fingerprint(model()); }
  TableRows rows() const {
    return parts_.sparse_optimizer->collections()[0]->tables()[0]->content().export_rows();
  }
  at::Tensor parameter(size_t i) { return parameters_[i].value; }

  // Returns the model's predictions for some batch, which depend on rows, too.
  at::Tensor predictions() {
    const c10::AutoGradMode no_gradients(false);
    model().eval();
    const at::Tensor predictions = model().forward(batches(1, 32)[0])->predictions;
    model().train();
    return predictions;
  }

  Progress progress;
  uint64_t seed = 1;
  int rank = 0;
  Watching observer;
  std::optional<GradientClipping> clipping;
  PrecisionConfig::Compute compute = PrecisionConfig::FLOAT32;
  double loss_scale = 1;
  std::vector<Batch> on_device;  // as StepInput::on_device

 private:
  // Fetches the batches over several ranks, as the trainer does before each step. Returns an empty
  // result.
  absl::StatusOr<StepResult> fetch(const std::vector<Batch>& micro_batches) {
    if (!tables_->active()) return StepResult();
    RETURN_IF_ERROR(agreement_.verify());
    tables_->set_rows(agreement_.result().rows);
    tables_->begin(Phase::kTrain, progress.step);
    RETURN_IF_ERROR(tables_->fetch(micro_batches));
    return StepResult();
  }

  TrainerParts parts_;
  std::vector<NamedParameter> parameters_;
  std::unique_ptr<TrainStep> step_;
  RequestQueue requests_;
  std::unique_ptr<Collectives> collectives_;
  Agreement agreement_;
  // Created once the model is known.
  std::optional<TableExchange> tables_;
  std::optional<CommitExchange> commit_;
};

}  // namespace millrace::train_step_testing

#endif  // MILLRACE_TESTS_CONFORMANCE_TRAIN_STEP_BENCH_H_
