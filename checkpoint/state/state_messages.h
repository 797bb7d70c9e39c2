// Small parts of the state as messages.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_MESSAGES_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_MESSAGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "embedding/table/table_statistics.h"
#include "proto/checkpoint_manifest.pb.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

ProgressState to_state(const Progress& progress);
// Errors: DataLoss for a number that is negative.
absl::StatusOr<Progress> from_state(const ProgressState& state);
// Converts to the form in manifests, with the time in seconds.
CheckpointManifest::Progress to_manifest(const ProgressState& state);
Progress from_manifest(const CheckpointManifest::Progress& progress);

TableCountersState to_state(absl::string_view table, const TableCounters& counters);
// Errors: DataLoss naming the table for a negative number and for unknown reasons of eviction.
absl::StatusOr<TableCounters> from_state(const TableCountersState& state);

// Returns the joined counters of two ranks that held parts of one table.
TableCounters merged(const TableCounters& a, const TableCounters& b);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_MESSAGES_H_
