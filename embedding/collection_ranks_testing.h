// Steps of collections whose tables are over ranks, all in one process, for tests.
#ifndef MILLRACE_EMBEDDING_COLLECTION_RANKS_TESTING_H_
#define MILLRACE_EMBEDDING_COLLECTION_RANKS_TESTING_H_

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "embedding/embedding_collection.h"
#include "embedding/gradient_summary.h"
#include "io/batch.h"

namespace millrace::ranks_testing {

// A lookup of a rank, and its gradients.
struct MicroBatch {
  KeyedJagged features;
  std::vector<at::Tensor> gradients;  // of each output; undefined: none comes back
  bool looked_up = true;              // false: is announced alone
};
using RankBatches = std::vector<MicroBatch>;

// The options in which compared jobs may differ.
struct JobOptions {
  EmbeddingCollectionOptions collection;
  SparseOptimizerConfig optimizer;
  // Rows of each table at the beginning: those of these ids.
  std::vector<std::vector<int64_t>> rows;
};

// The outcome of a step on all ranks.
struct StepResult {
  absl::Status status;                           // of apply, or what came before it
  std::vector<std::vector<at::Tensor>> outputs;  // of each rank, of its forward calls in order
  GradientSummary summary;
};

// The collections of all ranks of a job, which take turns.
class Job {
 public:
  // `world_size` 0: one collection that is not over ranks.
  Job(const JobOptions& options, int world_size);

  // One step: fetches, looks up, goes back, exchanges sums, decides, and updates or discards.
  // `batches`: of each rank; there is one without ranks. `tries`: how often the step is made; all
  // but the last are discarded after their backward passes.
  StepResult step(const std::vector<RankBatches>& batches, int tries = 1);
  // Looks up outside training.
  StepResult evaluate(const std::vector<RankBatches>& batches);

  // The parts of a step over ranks. Errors: the first.
  absl::Status fetch(const std::vector<RankBatches>& batches, bool training);
  absl::Status look_up(const std::vector<RankBatches>& batches,
                       std::vector<std::vector<at::Tensor>>& outputs);
  absl::Status exchange_sums();
  absl::Status apply();

  // Over all ranks.
  absl::uint128 digest(int table) const;
  int64_t sum(const std::function<int64_t(EmbeddingTable&)>& of_table, int table) const;

  int ranks() const { return static_cast<int>(collections_.size()); }
  EmbeddingCollection& collection(int rank) { return *collections_[rank]; }
  CollectionExchange& exchange(int rank) { return collections_[rank]->exchange(); }
  EmbeddingTable& table(int rank, int number) const {
    return *collections_[rank]->tables()[number];
  }
  // Frames begin at this place in memory, modulo 8.
  void set_offset(size_t offset) { offset_ = offset; }

 private:
  // Calls `read` for the frame from each rank to each other rank.
  absl::Status send(std::vector<std::vector<ByteBuffer>>& frames,
                    const std::function<absl::Status(int from, int to, absl::string_view&)>& read);
  absl::string_view body(const ByteBuffer& frame) const;

  const bool over_ranks_;
  std::vector<std::shared_ptr<EmbeddingCollection>> collections_;
  std::unique_ptr<RowOptimizer> optimizer_;
  size_t offset_ = 0;
  int64_t step_ = 0;
  // [from][to]
  std::vector<std::vector<ByteBuffer>> ids_, rows_, sums_;
};

// Random steps of a collection.
class RandomBatches {
 public:
  RandomBatches(const EmbeddingCollectionOptions& options, uint64_t seed)
      : options_(options), random_(seed) {}

  // Gradients are integers if asked for.
  MicroBatch next(bool integers = false, bool all_gradients = false);
  RankBatches some(int micro_batches, bool integers = false, bool all_gradients = false);
  uint64_t below(uint64_t end) { return random_() % end; }
  // Turns a number of the gradients into one that is not finite. Returns: whether there was one.
  bool poison(RankBatches& batches);

 private:
  at::Tensor gradient(int64_t rows, int64_t columns, bool integers);

  const EmbeddingCollectionOptions options_;
  std::mt19937_64 random_;
};

// Tables of every kind of row, admission, limit and default value, and features of every pooling.
EmbeddingCollectionOptions all_kinds();
// The same with float32 rows, always admitted, without limits; no gradient has a factor.
EmbeddingCollectionOptions plain_kinds();
// Every sparse optimizer.
std::vector<SparseOptimizerConfig> all_optimizers();
// Rows of tables that admit nothing.
std::vector<std::vector<int64_t>> first_rows(const EmbeddingCollectionOptions& options);

// Expects the same outputs, to the bit.
void expect_same(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& expected);
// Expects the same content, counts and admission.
void expect_same_tables(const Job& job, const Job& expected, const std::string& where);

}  // namespace millrace::ranks_testing

#endif  // MILLRACE_EMBEDDING_COLLECTION_RANKS_TESTING_H_
