// A job with embedding tables over ranks that are threads, and its outcome, for tests that compare
// numbers of ranks.
#ifndef MILLRACE_TESTS_RANKS_TABLE_RANKS_H_
#define MILLRACE_TESTS_RANKS_TABLE_RANKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/thread_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {

// Steps of the jobs of tiny_table_options().
inline constexpr int64_t kTableSteps = 40;

// Returns a job of kTableSteps steps of 24 examples with three ids each, below 200.
TinyTrainerOptions tiny_table_options();

// One job, for any number of ranks.
struct TableRun {
  TinyTrainerOptions options = tiny_table_options();
  // Changes the parts of a rank's trainer. `own`: its options. Default: changes nothing.
  std::function<void(const TinyTrainerOptions& own, TrainerParts& parts)> change_parts = nullptr;
  // Called with the trainer of each rank before it trains. Default: does nothing.
  std::function<absl::Status(Trainer& trainer, int rank)> prepare = nullptr;
  // Trains. Default: Trainer::train_and_evaluate().
  std::function<absl::StatusOr<Summary>(Trainer& trainer)> train = nullptr;
  // ThreadRanksOptions::inject.
  std::function<absl::Status(const CollectiveCall&)> inject = nullptr;
};

// Creates the trainer of the rank of `ranks` and calls `body` with it.
absl::Status run_table_rank(const TableRun& run, std::unique_ptr<Collectives> ranks,
                            const std::function<absl::Status(Trainer& trainer, int rank)>& body);

// Calls run_table_rank() on threads. Returns the status of each rank.
std::vector<absl::Status> run_table_ranks(
    const TableRun& run, int world_size,
    const std::function<absl::Status(Trainer& trainer, int rank)>& body);

struct RankedRow {
  std::vector<float> weights;
  std::map<std::string, std::vector<float>> slots;
  int64_t frequency = 0;
  int64_t last_step = 0;

  friend bool operator==(const RankedRow&, const RankedRow&) = default;
};

// One table over all ranks.
struct TableOutcome {
  std::map<int64_t, RankedRow> rows;                 // by id
  TableCounters counters;                            // sums
  AdmissionState admission;                          // without a sketch
  int64_t evicted_log_begins = 0;                    // the largest
  std::vector<std::pair<int64_t, int64_t>> evicted;  // step and id, ascending
};

// The outcome of a job.
struct TablesOutcome {
  std::map<std::string, TableOutcome> tables;
  std::vector<std::string> dense;             // bytes of the dense parameters, by rank
  std::vector<at::Tensor> parameters;         // of rank 0
  std::map<std::string, double> metrics;      // of the last evaluation
  std::map<std::string, int64_t> table_rows;  // of the summary
};

// Returns the counts of a rank by id, a line each, in ascending order: the ids, frequencies and
// last steps of its rows, admission counts and evicted ids. The lines of all ranks together equal
// the lines of one rank.
std::vector<std::string> counts_of(const Trainer& trainer);

// Trains on `world_size` ranks. Expects success of all, each row only on the rank of its id, and
// the same dense parameters on all ranks. Returns an empty outcome otherwise.
TablesOutcome train_tables(const TableRun& run, int world_size);

// Expects equal counts, weights and slots within `tolerance` of the norm of the row, and dense
// parameters and metrics in proportion.
void expect_same_outcome(const TablesOutcome& one, const TablesOutcome& many,
                         double tolerance = 1e-5);
// Expects outcomes that are equal to the bit.
void expect_equal_outcome(const TablesOutcome& one, const TablesOutcome& other);

// Expects the same outcome for 1 rank and for `world_sizes`. Returns the outcome of 1 rank.
TablesOutcome expect_same_over_ranks(const TableRun& run, double tolerance = 1e-5,
                                     const std::vector<int>& world_sizes = {2, 3, 4});

// Makes rank 0 change the first gradient of the tables, so that all ranks refuse and skip the first
// step. Expects no rows on any rank then, and calls `after` with the context of the hook.
absl::Status refuse_first_step(Trainer& trainer, int rank, std::function<void(HookContext&)> after);

// Adds a hook that calls `on_event` with each event of RecordingHook. `name`: the name of the hook.
absl::Status watch_events(
    Trainer& trainer, std::function<absl::Status(HookContext&, absl::string_view event)> on_event,
    const std::string& name = "watching");

// Replaces the loss of a TinyModel by one whose gradients for rows all have the same sign, so that
// their sums do not cancel.
void make_one_sided(Trainer& trainer);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_TABLE_RANKS_H_
