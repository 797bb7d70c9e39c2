#include "bench/ranks/rank_steps.h"

#include <ATen/ATen.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_buffer.h"
#include "base/status_macros.h"
#include "bench/embedding/embedding_setup.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/commit_exchange.h"
#include "framework/ranks/table_exchange.h"
#include "hook/request_queue.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kChunk = 2048;  // rows of each table looked up at once, outside steps

// Adds the time since the last call to a stage.
class StageClock {
 public:
  explicit StageClock(RankSteps::Figures& figures) : figures_(figures) {}
  void end(RankSteps::Stage stage) {
    const auto now = SteadyClock::now();
    figures_.seconds[stage] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  RankSteps::Figures& figures_;
  SteadyClock::time_point last_ = SteadyClock::now();
};

}  // namespace

// A model of the tables, whose predictions are the pooled output.
class RankSteps::Tables : public Model {
 public:
  explicit Tables(std::shared_ptr<EmbeddingCollection> collection)
      : collection_(register_module("tables", std::move(collection))) {}
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ASSIGN_OR_RETURN(const EmbeddingOutput output, collection_->forward(batch.sparse));
    ModelOutput result;
    result.predictions = output.pooled;
    return result;
  }
  EmbeddingCollection& collection() { return *collection_; }

 private:
  const std::shared_ptr<EmbeddingCollection> collection_;  // shared with LibTorch's list of modules
};

RankSteps::RankSteps(EmbeddingWorkload workload, std::unique_ptr<Collectives> collectives)
    : workload_(std::move(workload)),
      collectives_(std::move(collectives)),
      measured_(*collectives_) {}

RankSteps::~RankSteps() = default;

absl::Status RankSteps::prepare(const std::string& optimizer, int64_t threads, InstructionSet set) {
  const EmbeddingShape& shape = workload_.shape();
  const int rank = measured_.rank(), world_size = measured_.world_size();
  ASSIGN_OR_RETURN(const SparseOptimizerConfig config, sparse_optimizer_named(optimizer));
  ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingCollection> collection,
                   EmbeddingCollection::create(collection_options(shape, threads, set)));
  model_ = std::make_shared<Tables>(collection);
  RETURN_IF_ERROR(collection->shard({rank, world_size}));
  EmbeddingCollection* const collections[] = {collection.get()};
  ASSIGN_OR_RETURN(optimizer_, SparseOptimizer::create(config, collections));
  requests_ = std::make_unique<RequestQueue>(rank, world_size);
  agreement_ = std::make_unique<Agreement>(measured_, *requests_, std::vector<std::string>(),
                                           /*tasks=*/0, shape.tables);
  agreement_->begin_run();
  tables_ = std::make_unique<TableExchange>(*agreement_, *model_, collections_of(*model_));
  commit_ = std::make_unique<CommitExchange>(*agreement_, absl::Span<const NamedParameter>(),
                                             tables_.get());
  loss_ = at::scalar_tensor(0.5, at::kFloat);
  RETURN_IF_ERROR(fill());
  const int64_t examples = shape.batch / world_size;
  for (int64_t number = 0; number < kEmbeddingBatches; ++number) {
    Batch batch;
    batch.size = examples;
    batch.sparse = examples_of(workload_, workload_.batch_rows(number), rank * examples,
                               (rank + 1) * examples);
    batches_.push_back(std::move(batch));
  }
  // A tensor without a base, as backward passes produce; autograd copies views before it keeps
  // them.
  gradient_ = torch::tensor(workload_.gradient())
                  .view({shape.batch, -1})
                  .narrow(0, rank * examples, examples)
                  .clone();
  return absl::OkStatus();
}

absl::Status RankSteps::run(int64_t steps, Figures& figures) {
  for (int64_t i = 0; i < steps; ++i) {
    RETURN_IF_ERROR(step(batches_[next_++ % kEmbeddingBatches], gradient_, figures));
  }
  const MeasuredCollectives::Totals totals = measured_.take_totals();
  for (size_t i = 0; i < totals.size(); ++i) {
    figures.exchanges[i].seconds += totals[i].seconds;
    figures.exchanges[i].bytes += totals[i].bytes;
  }
  return absl::OkStatus();
}

// Calls the parts in the order of Trainer::run_step(), StepRunner and TrainStep.
absl::Status RankSteps::step(const Batch& batch, const at::Tensor& gradient, Figures& figures) {
  StageClock clock(figures);
  measured_.begin_step();
  RankShare share;
  share.has_data = true;
  share.examples = batch.size;
  share.rows = tables_->rows();
  // The step exchange ends before the exchange of ids, as in a trainer with tables over ranks: a
  // rank that failed is known before rows are fetched.
  RETURN_IF_ERROR(agreement_->meet({kStepPlace, ++meetings_}, share));
  tables_->set_rows(agreement_->result().rows);
  clock.end(kStepExchange);

  commit_->begin_step(meetings_);
  tables_->begin(Phase::kTrain, meetings_);
  RETURN_IF_ERROR(tables_->fetch({&batch, 1}));
  clock.end(kFetch);

  commit_->enter(RankPhase::kForward);
  ASSIGN_OR_RETURN(const ModelOutput output, model_->forward(batch));
  clock.end(kForward);

  commit_->enter(RankPhase::kBackward);
  if (gradient.defined()) output.predictions.backward(gradient);
  clock.end(kBackward);

  RETURN_IF_ERROR(optimizer_->check(progress_));
  // A refused step would not be comparable with others.
  if (!optimizer_->summarize(false).finite) {
    return absl::InternalError("the gradients of the benchmark are not finite");
  }
  clock.end(kSummarize);

  CommitInput input;
  input.examples = agreement_->result().examples;
  input.loss = loss_;
  ASSIGN_OR_RETURN(const CommitDecision decision, commit_->run(input));
  if (!decision.apply) {
    return absl::InternalError(absl::StrCat("a step was refused: ", decision.refused));
  }
  clock.end(kCommit);

  commit_->enter(RankPhase::kUpdate);
  RETURN_IF_ERROR(optimizer_->step(progress_, decision.gradient_scale));
  ++progress_.step;
  RETURN_IF_ERROR(tables_->enforce_limits({"eviction", meetings_}));
  clock.end(kApply);
  return absl::OkStatus();
}

absl::StatusOr<double> RankSteps::exchange(int64_t bytes, int64_t count) {
  std::vector<ByteBuffer> sent(measured_.world_size()), received(measured_.world_size());
  for (ByteBuffer& buffer : sent) {
    buffer.resize(static_cast<size_t>(bytes));
    std::fill_n(buffer.data(), buffer.size(), '\x5a');
  }
  SteadyClock::time_point start;
  // The first exchange allocates the buffers and synchronizes the ranks.
  for (int64_t i = 0; i <= count; ++i) {
    RETURN_IF_ERROR(collectives_->start_exchange(sent, absl::MakeSpan(received))->wait());
    if (i == 0) start = SteadyClock::now();
  }
  return std::chrono::duration<double>(SteadyClock::now() - start).count() /
         static_cast<double>(count);
}

absl::StatusOr<std::string> RankSteps::weights() {
  const at::NoGradGuard no_gradients;
  const EmbeddingShape& shape = workload_.shape();
  std::vector<int64_t> all(static_cast<size_t>(shape.rows));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const std::vector<std::vector<int64_t>> rows(static_cast<size_t>(shape.tables), all);
  std::string bytes;
  for (int64_t begin = 0; begin < shape.rows; begin += kChunk) {
    Batch batch;  // without examples, except on rank 0
    if (measured_.rank() == 0) {
      batch =
          batch_of(rows, begin, std::min(begin + kChunk, shape.rows), [](int64_t) { return true; });
    }
    measured_.begin_step();
    tables_->begin(Phase::kEvaluate, meetings_);
    RETURN_IF_ERROR(tables_->fetch({&batch, 1}));
    if (batch.size == 0) continue;
    ASSIGN_OR_RETURN(const ModelOutput output, model_->forward(batch));
    bytes.append(static_cast<const char*>(output.predictions.const_data_ptr()),
                 output.predictions.nbytes());
  }
  return bytes;
}

// Makes steps without gradients, which leave the initial values. Each rank looks up its own rows.
absl::Status RankSteps::fill() {
  const EmbeddingShape& shape = workload_.shape();
  const Placement placement = model_->collection().exchange().placement();
  std::vector<std::vector<int64_t>> rows;
  for (int64_t t = 0; t < shape.tables; ++t) rows.push_back(workload_.rows_by_arrival(t));
  Figures ignored;
  for (int64_t begin = 0; begin < shape.rows; begin += kChunk) {
    const Batch batch = batch_of(rows, begin, std::min(begin + kChunk, shape.rows),
                                 [&](int64_t id) { return placement.owns(id); });
    RETURN_IF_ERROR(step(batch, at::Tensor(), ignored));
  }
  for (const std::unique_ptr<EmbeddingTable>& table : model_->collection().tables()) {
    TableCounters counters = table->content().counters();
    counters.applied_steps = 0;
    RETURN_IF_ERROR(table->content().set_counters(counters));
  }
  progress_ = Progress();
  measured_.take_totals();
  return absl::OkStatus();
}

Batch RankSteps::batch_of(const std::vector<std::vector<int64_t>>& rows, int64_t begin, int64_t end,
                          const std::function<bool(int64_t id)>& wanted) const {
  std::vector<int64_t> ids, offsets = {0};
  for (size_t table = 0; table < rows.size(); ++table) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t id = workload_.id(static_cast<int64_t>(table), rows[table][i]);
      if (wanted(id)) ids.push_back(id);
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
  }
  Batch batch;
  batch.size = end - begin;
  batch.sparse.values = int64_tensor(ids);
  batch.sparse.offsets = int64_tensor(offsets);
  return batch;
}

}  // namespace millrace
