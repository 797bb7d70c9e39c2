// What a model bank may be told.
#ifndef MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_
#define MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// The bank of a job: model_bank, or the one that initialize_from is short for. None: no sources.
ModelBankConfig model_bank_of(const TrainConfig& train);

// The parts a source gives: those it names, or WEIGHTS and SLOTS.
bool gives(const SourceConfig& source, SourceConfig::Part part);

// `bank` without what only training needs: its sources give WEIGHTS, and those that give none are
// gone, as are rules over slots and optimizer state and about what may be missing.
ModelBankConfig weights_alone(const ModelBankConfig& bank);

// Checks what can be checked without any source.
// Errors: InvalidArgument naming the source and the field.
absl::Status check_model_bank(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_MODEL_BANK_CHECK_H_
