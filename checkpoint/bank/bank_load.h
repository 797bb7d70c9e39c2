// From the sources of a model bank into memory.
#ifndef MILLRACE_CHECKPOINT_BANK_BANK_LOAD_H_
#define MILLRACE_CHECKPOINT_BANK_BANK_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/thread_pool.h"
#include "checkpoint/bank/bank_plan.h"
#include "checkpoint/bank/bank_source.h"
#include "checkpoint/train_state.h"
#include "proto/config.pb.h"

namespace millrace {

struct BankLoadOptions {
  // The job begins with it: everything the target has, where no source gives it as it is there.
  // Else only what changes, but of optimizer state all or none.
  bool whole = true;
  int64_t step = 0;  // where training stands afterwards: new rows count as seen then
  // They count as seen when their table was seen last.
  bool step_by_table = false;
};

// Reads what the plan says, for the trainer that `target` was captured from, which stays as it is.
// Tables come with their counters; `shared` and `ranks` of the result are empty. Every byte of a
// checkpoint is checked on the way.
// Rows that are there and come from a source too keep what the source does not give: frequency,
// last step, slots; and what is counted of ids without rows.
// REQUIRES: `sources` are those the plan was made for, null where there is none.
// Errors: DataLoss naming file and place for damage; ResourceExhausted for a table whose limits do
// not allow the rows; OutOfRange, naming table and step, for a step that rows cannot note
// (EmbeddingTable::check_step); InvalidArgument for counts of another kind of admission; those of
// reading.
absl::StatusOr<LoadedState> load_bank(const ModelBankConfig& config, const BankPlan& plan,
                                      absl::Span<const std::unique_ptr<BankSource>> sources,
                                      const TrainState& target, const BankLoadOptions& options,
                                      ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_BANK_LOAD_H_
