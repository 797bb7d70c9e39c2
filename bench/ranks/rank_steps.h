// Steps of embedding tables that are split over ranks.
#ifndef MILLRACE_BENCH_RANKS_RANK_STEPS_H_
#define MILLRACE_BENCH_RANKS_RANK_STEPS_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/isa/instruction_set.h"
#include "base/progress.h"
#include "bench/embedding/embedding_workload.h"
#include "bench/ranks/measured_collectives.h"
#include "distributed/collectives.h"
#include "io/batch.h"

namespace millrace {

class Agreement;
class CommitExchange;
class EmbeddingCollection;
class RequestQueue;
class SparseOptimizer;
class TableExchange;

// The tables of one rank, and the steps of a trainer on them with the parts of the trainer: step
// exchange, fetching of rows (TableExchange), lookups, backward pass through autograd with a fixed
// gradient, exchange of sums and decision (CommitExchange), update. Rank r of W looks up the r-th
// of W equal parts of the examples of each batch. All ranks call the same functions in the same
// order. Used by one thread.
class RankSteps {
 public:
  // Local work and exchanges of a step.
  enum Stage { kStepExchange, kFetch, kForward, kBackward, kSummarize, kCommit, kApply, kStages };
  struct Figures {
    std::array<double, kStages> seconds = {};  // exchanges included
    MeasuredCollectives::Totals exchanges = {};
  };

  // REQUIRES: the number of examples of a batch is a multiple of the number of ranks.
  RankSteps(EmbeddingWorkload workload, std::unique_ptr<Collectives> collectives);
  ~RankSteps();

  // Creates the tables and fills them with initial rows. Errors: InvalidArgument for an unknown
  // optimizer; as the exchanges.
  absl::Status prepare(const std::string& optimizer, int64_t threads, InstructionSet set);

  // Makes steps and adds their times to `figures`. Errors: as the parts of a step.
  absl::Status run(int64_t steps, Figures& figures);

  // Exchanges `bytes` with each other rank on the table channel, `count` times, and returns the
  // seconds of one exchange. Errors: as the exchanges.
  absl::StatusOr<double> exchange(int64_t bytes, int64_t count);

  // Returns, on rank 0, the weights of all rows, float32 [rows, tables, dim] as bytes; on other
  // ranks "". Errors: as the exchanges.
  absl::StatusOr<std::string> weights();

 private:
  class Tables;

  // Makes one step. `gradient`: if undefined, there is no backward pass.
  absl::Status step(const Batch& batch, const at::Tensor& gradient, Figures& figures);
  absl::Status fill();
  // Returns a batch with the ids of rows `begin` to `end` of rows[table] for which `wanted` returns
  // true. Lists have one id or none.
  Batch batch_of(const std::vector<std::vector<int64_t>>& rows, int64_t begin, int64_t end,
                 const std::function<bool(int64_t id)>& wanted) const;

  const EmbeddingWorkload workload_;
  const std::unique_ptr<Collectives> collectives_;
  MeasuredCollectives measured_;
  std::shared_ptr<Tables> model_;  // shared, as all modules of LibTorch
  std::unique_ptr<SparseOptimizer> optimizer_;
  std::unique_ptr<RequestQueue> requests_;
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<TableExchange> tables_;
  std::unique_ptr<CommitExchange> commit_;
  std::vector<Batch> batches_;
  at::Tensor gradient_;
  at::Tensor loss_;  // of every step
  Progress progress_;
  int64_t meetings_ = 0;  // so far
  int64_t next_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_RANKS_RANK_STEPS_H_
