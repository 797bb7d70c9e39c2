// What tables are called and look like in checkpoints.
#ifndef MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_
#define MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checkpoint/format/tensor_type.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_snapshot.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Parts of a count sketch (embedding/policies/count_sketch.h).
inline constexpr int64_t kSketchRanges = 1024;

// "table/NAME/", with which the names of a table's tensors begin.
std::string table_prefix(absl::string_view table);

TensorType tensor_type_of(RowType type);

// The schema of a table: name, dim, dtype, slots (without `row_state`: none), rows.
CheckpointManifest::Table table_entry(const TableSnapshot& table, bool row_state);

// Why rows of a table in a checkpoint do not fit into `table`, a line for each reason: another
// dimension or dtype, a slot that is missing, of another size or not known. Without `row_state`
// slots do not matter.
std::vector<std::string> table_differences(const CheckpointManifest::Table& saved,
                                           const EmbeddingTable& table, bool row_state);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_
