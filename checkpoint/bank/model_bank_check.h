// Rules of the configuration of a model bank.
#ifndef MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_
#define MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the bank of a job: model_bank, or the bank that initialize_from abbreviates. A job
// without either has a bank without sources.
ModelBankConfig model_bank_of(const TrainConfig& train);

// Returns true if a source gives this part: a listed part, or by default WEIGHTS and SLOTS.
bool gives(const SourceConfig& source, SourceConfig::Part part);

// Returns `bank` without everything that only training needs. Its sources give WEIGHTS; sources
// without WEIGHTS are removed, as are rules for slots, optimizer state and missing items.
ModelBankConfig weights_alone(const ModelBankConfig& bank);

// Checks all rules that need no source. Errors: InvalidArgument naming the source and the field.
absl::Status check_model_bank(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_
