// Loads the sources of a model bank into memory.
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
#include "checkpoint/state/train_state.h"
#include "proto/config.pb.h"

namespace millrace {

struct BankLoadOptions {
  // If true, the job begins with the result: everything that the target has, and the target's own
  // values where no source gives any. If false, only the content that changes, but all or none of
  // the optimizer state.
  bool whole = true;
  int64_t step = 0;  // the step after the load: new rows get it as last step
  // If true, new rows get the last step of their table instead.
  bool step_by_table = false;
};

// Reads the content that the plan lists, for the trainer that `target` was captured from, which
// stays unchanged. Tables have their counters; `shared` and `ranks` of the result are empty. Every
// byte of a checkpoint is checked as it is read. A row that exists and that a source gives too
// retains everything that the source does not give: frequency, last step, slots. Likewise the
// counts of ids without rows.
// REQUIRES: `sources` are the sources of the plan; null where a source does not exist.
// Errors: DataLoss naming file and place for damage; ResourceExhausted for a table whose limits do
// not allow the rows; OutOfRange, naming table and step, for a step that rows cannot record
// (EmbeddingTable::check_step); InvalidArgument for counts of another kind of admission; read
// errors.
absl::StatusOr<LoadedState> load_bank(const ModelBankConfig& config, const BankPlan& plan,
                                      absl::Span<const std::unique_ptr<BankSource>> sources,
                                      const TrainState& target, const BankLoadOptions& options,
                                      ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_BANK_LOAD_H_
