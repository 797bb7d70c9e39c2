// The steps that embedding benchmarks measure.
#ifndef MILLRACE_BENCH_EMBEDDING_EMBEDDING_STEPS_H_
#define MILLRACE_BENCH_EMBEDDING_EMBEDDING_STEPS_H_

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
#include "bench/embedding/embedding_setup.h"
#include "bench/embedding/embedding_workload.h"
#include "io/batch.h"

namespace millrace {

class EmbeddingCollection;
class SparseOptimizer;

// A collection of full tables, and the steps of a trainer on it: lookups with ids of 64 bits, the
// backward pass through autograd with a fixed gradient, the check for finite gradients, the update.
//
//   EmbeddingSteps steps(workload);
//   RETURN_IF_ERROR(steps.prepare("adam", threads));
//   RETURN_IF_ERROR(steps.run(100, seconds));
class EmbeddingSteps {
 public:
  static constexpr int64_t kBatches = kEmbeddingBatches;
  enum Phase { kForward, kBackward, kSummarize, kApply, kPhases };
  using Seconds = std::array<double, kPhases>;  // of each phase

  explicit EmbeddingSteps(EmbeddingWorkload workload);
  ~EmbeddingSteps();

  // Creates the tables and fills them with initial rows. Errors: InvalidArgument for an unknown
  // optimizer, with the nearest name.
  absl::Status prepare(const std::string& optimizer, int64_t threads,
                       InstructionSet set = best_instruction_set());

  // Makes one step and adds the seconds of its phases.
  absl::Status run(Seconds& seconds);
  absl::Status run(int64_t steps, Seconds& seconds);

  // Returns the weights of all rows, float32 [rows, tables, dim] as bytes.
  absl::StatusOr<std::string> weights();

  EmbeddingCollection& collection() { return *collection_; }
  const Progress& progress() const { return progress_; }

 private:
  absl::Status end_step();
  absl::Status fill();
  absl::Status look_up_chunks(const std::function<std::vector<int64_t>(int64_t)>& rows_of,
                              const std::function<absl::Status(const at::Tensor&)>& show);

  const EmbeddingWorkload workload_;
  std::shared_ptr<EmbeddingCollection> collection_;  // shared, as all modules of LibTorch
  std::unique_ptr<SparseOptimizer> optimizer_;
  std::vector<KeyedJagged> batches_;
  at::Tensor gradient_;
  Progress progress_;
  int64_t next_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_EMBEDDING_EMBEDDING_STEPS_H_
