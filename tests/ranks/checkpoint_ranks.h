// A job over several ranks that saves and resumes, for ranks as threads and as processes.
#ifndef MILLRACE_TESTS_RANKS_CHECKPOINT_RANKS_H_
#define MILLRACE_TESTS_RANKS_CHECKPOINT_RANKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "distributed/collectives.h"

namespace millrace {

struct CheckpointRun {
  std::string folder;      // of checkpoints
  int64_t save_every = 0;  // steps; 0: none
  int64_t max_steps = 0;   // 0: two epochs
  int64_t steps = 6;       // of an epoch, with 12 examples of all ranks each
  bool resume = false;
  bool save_again = false;  // saves once more at the end, even if nothing was trained
  int max_deltas = 0;
  bool asynchronous = false;
  int64_t file_bytes = int64_t{2} << 30;
  // A table with fields of TableConfig, as text, and its optimizer; none: only dense features.
  std::optional<std::string> table;
  std::string sparse_optimizer = "sgd {} learning_rate: 0.1";
  // Fields of ModelBankConfig, as text, for the initial values; "": no bank.
  std::string bank = "";
  // Fields of TinyTrainerOptions::dense_optimizer, clipping and precision, as text; "": the
  // default.
  std::string optimizer = "adam {} learning_rate: 0.1";
  std::string clipping = "";
  std::string precision = "";
};

// Trains a rank. `files`: the rank's view of a shared disk. Returns the outcome to the last bit:
// parameters, optimizer state, progress, the last report.
absl::StatusOr<std::string> run_with_checkpoints(const CheckpointRun& run, FileSystem& files,
                                                 std::unique_ptr<Collectives> collectives);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_CHECKPOINT_RANKS_H_
