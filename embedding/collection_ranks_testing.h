// Steps of sharded collections in one process, for tests.
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

// A lookup of a rank and its gradients.
struct MicroBatch {
  KeyedJagged features;
  std::vector<at::Tensor> gradients;  // of each output; undefined: no gradient
  bool looked_up = true;              // false: announced without a lookup
};
using RankBatches = std::vector<MicroBatch>;

// The options of a job.
struct JobOptions {
  EmbeddingCollectionOptions collection;
  SparseOptimizerConfig optimizer;
  // The ids of the initial rows of each table.
  std::vector<std::vector<int64_t>> rows;
};

// The outcome of a step on all ranks.
struct StepResult {
  absl::Status status;                           // of apply(), or the first error before it
  std::vector<std::vector<at::Tensor>> outputs;  // of each rank's forward calls, in order
  GradientSummary summary;
};

// The collections of all ranks of a job, called one after the other.
class Job {
 public:
  // Creates the collections. `world_size` 0: one collection that is not sharded.
  Job(const JobOptions& options, int world_size);

  // Runs one step: fetches rows, runs forward and backward passes, exchanges sums, and updates or
  // discards. `batches`: by rank; one entry if not sharded. `tries`: the number of runs of the
  // step; all runs but the last are discarded after their backward passes.
  StepResult step(const std::vector<RankBatches>& batches, int tries = 1);
  // Looks up batches outside training.
  StepResult evaluate(const std::vector<RankBatches>& batches);

  // The phases of a sharded step. Each returns the first error of a rank.
  absl::Status fetch(const std::vector<RankBatches>& batches, bool training);
  absl::Status look_up(const std::vector<RankBatches>& batches,
                       std::vector<std::vector<at::Tensor>>& outputs);
  absl::Status exchange_sums();
  absl::Status apply();

  // Return sums over all ranks.
  absl::uint128 digest(int table) const;
  int64_t sum(const std::function<int64_t(EmbeddingTable&)>& of_table, int table) const;

  int ranks() const { return static_cast<int>(collections_.size()); }
  EmbeddingCollection& collection(int rank) { return *collections_[rank]; }
  CollectionExchange& exchange(int rank) { return collections_[rank]->exchange(); }
  EmbeddingTable& table(int rank, int number) const {
    return *collections_[rank]->tables()[number];
  }
  // Sets the offset of frames from the beginning of their buffer, to test alignments.
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
  // Frames by [from][to].
  std::vector<std::vector<ByteBuffer>> ids_, rows_, sums_;
};

// Random steps of a collection.
class RandomBatches {
 public:
  RandomBatches(const EmbeddingCollectionOptions& options, uint64_t seed)
      : options_(options), random_(seed) {}

  // Returns random batches. `integers`: gradients are integers and ids have no weights.
  // `all_gradients`: every output has a gradient.
  MicroBatch next(bool integers = false, bool all_gradients = false);
  RankBatches some(int micro_batches, bool integers = false, bool all_gradients = false);
  uint64_t below(uint64_t end) { return random_() % end; }
  // Replaces a random gradient value by NaN or infinity. Returns true if there is a gradient.
  bool poison(RankBatches& batches);

 private:
  at::Tensor gradient(int64_t rows, int64_t columns, bool integers);

  const EmbeddingCollectionOptions options_;
  std::mt19937_64 random_;
};

// Returns options with tables of every row type, admission, limit and default value, and features
// of every pooling.
EmbeddingCollectionOptions all_kinds();
// Returns options of float32 tables with an initial value of 1 and a few admissions and limits.
EmbeddingCollectionOptions plain_kinds();
// Returns a configuration of every sparse optimizer.
std::vector<SparseOptimizerConfig> all_optimizers();
// Returns the initial ids of tables that insert no rows.
std::vector<std::vector<int64_t>> first_rows(const EmbeddingCollectionOptions& options);

// Expects bitwise equal outputs.
void expect_same(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& expected);
// Expects equal content, counts and admission.
void expect_same_tables(const Job& job, const Job& expected, const std::string& where);

}  // namespace millrace::ranks_testing

#endif  // MILLRACE_EMBEDDING_COLLECTION_RANKS_TESTING_H_
