#include "bench/embedding/embedding_steps.h"

#include <ATen/ATen.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "bench/embedding/embedding_setup.h"
#include "embedding/embedding_collection.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kChunk = 2048;  // rows of each table looked up at once, outside steps

}  // namespace

EmbeddingSteps::EmbeddingSteps(EmbeddingWorkload workload) : workload_(std::move(workload)) {}

EmbeddingSteps::~EmbeddingSteps() = default;

absl::Status EmbeddingSteps::prepare(const std::string& optimizer, int64_t threads,
                                     InstructionSet set) {
  const EmbeddingShape& shape = workload_.shape();
  ASSIGN_OR_RETURN(const SparseOptimizerConfig config, sparse_optimizer_named(optimizer));
  ASSIGN_OR_RETURN(collection_,
                   EmbeddingCollection::create(collection_options(shape, threads, set)));
  EmbeddingCollection* const collections[] = {collection_.get()};
  ASSIGN_OR_RETURN(optimizer_, SparseOptimizer::create(config, collections));
  RETURN_IF_ERROR(fill());
  for (int64_t number = 0; number < kBatches; ++number) {
    batches_.push_back(examples_of(workload_, workload_.batch_rows(number), 0, shape.batch));
  }
  // A tensor without a base, as backward passes produce; autograd copies views before it keeps
  // them.
  gradient_ = torch::tensor(workload_.gradient()).view({shape.batch, -1}).clone();
  return absl::OkStatus();
}

absl::Status EmbeddingSteps::run(Seconds& seconds) {
  std::array<SteadyClock::time_point, kPhases + 1> times;
  times[kForward] = SteadyClock::now();
  ASSIGN_OR_RETURN(const EmbeddingOutput output,
                   collection_->forward(batches_[next_++ % kBatches]));
  times[kBackward] = SteadyClock::now();
  output.pooled.backward(gradient_);
  times[kSummarize] = SteadyClock::now();
  if (!optimizer_->summarize(false).finite) {
    return absl::InternalError("the gradients of the benchmark are not finite");
  }
  times[kApply] = SteadyClock::now();
  RETURN_IF_ERROR(end_step());
  times[kPhases] = SteadyClock::now();
  for (int phase = 0; phase < kPhases; ++phase) {
    seconds[phase] += std::chrono::duration<double>(times[phase + 1] - times[phase]).count();
  }
  return absl::OkStatus();
}

absl::Status EmbeddingSteps::run(int64_t steps, Seconds& seconds) {
  for (int64_t i = 0; i < steps; ++i) RETURN_IF_ERROR(run(seconds));
  return absl::OkStatus();
}

absl::StatusOr<std::string> EmbeddingSteps::weights() {
  const at::NoGradGuard no_gradients;
  std::vector<int64_t> rows(static_cast<size_t>(workload_.shape().rows));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  std::string bytes;
  RETURN_IF_ERROR(look_up_chunks([&](int64_t) { return rows; },
                                 [&](const at::Tensor& pooled) {
                                   bytes.append(static_cast<const char*>(pooled.const_data_ptr()),
                                                pooled.nbytes());
                                   return absl::OkStatus();
                                 }));
  return bytes;
}

absl::Status EmbeddingSteps::end_step() {
  RETURN_IF_ERROR(optimizer_->step(progress_));
  ++progress_.step;
  return absl::OkStatus();
}

// Makes steps without gradients, which leave the initial values.
absl::Status EmbeddingSteps::fill() {
  RETURN_IF_ERROR(look_up_chunks([&](int64_t table) { return workload_.rows_by_arrival(table); },
                                 [&](const at::Tensor&) { return end_step(); }));
  for (const std::unique_ptr<EmbeddingTable>& table : collection_->tables()) {
    TableCounters counters = table->content().counters();
    counters.applied_steps = 0;
    RETURN_IF_ERROR(table->content().set_counters(counters));
  }
  progress_ = Progress();
  return absl::OkStatus();
}

// Looks up all rows in the order of rows_of(table), and passes on the output of each chunk.
absl::Status EmbeddingSteps::look_up_chunks(
    const std::function<std::vector<int64_t>(int64_t)>& rows_of,
    const std::function<absl::Status(const at::Tensor&)>& show) {
  const EmbeddingShape& shape = workload_.shape();
  std::vector<std::vector<int64_t>> rows;
  for (int64_t t = 0; t < shape.tables; ++t) rows.push_back(rows_of(t));
  for (int64_t begin = 0; begin < shape.rows; begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, shape.rows);
    std::vector<int64_t> ids;
    for (int64_t t = 0; t < shape.tables; ++t) {
      for (int64_t i = begin; i < end; ++i) ids.push_back(workload_.id(t, rows[t][i]));
    }
    const auto lists = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(const EmbeddingOutput output,
                     collection_->forward(lists_of_equal_length(ids, lists)));
    RETURN_IF_ERROR(show(output.pooled));
  }
  return absl::OkStatus();
}

}  // namespace millrace
