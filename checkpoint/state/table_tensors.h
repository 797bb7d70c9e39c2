// Names and forms of tables in checkpoints.
#ifndef MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_
#define MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "checkpoint/format/tensor_type.h"
#include "embedding/rows/placement.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_snapshot.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Number of ranges of a count sketch (embedding/policies/count_sketch.h): one range per part of a
// placement.
inline constexpr int64_t kSketchRanges = kPlacementParts;

// Ranges of a sketch, [begin, end), that a file for these placement hashes contains. Both hashes
// are included: range r covers the hash r << 54.
struct SketchRanges {
  int64_t begin = 0;
  int64_t end = 0;
};
SketchRanges sketch_ranges(uint64_t first_hash, uint64_t last_hash);

// Returns "table/NAME/", the prefix of the names of a table's tensors.
std::string table_prefix(absl::string_view table);

TensorType tensor_type_of(RowType type);

// Returns the schema of a table: name, dim, dtype, slots (without `row_state`: none), rows.
CheckpointManifest::Table table_entry(const TableSnapshot& table, bool row_state);

// Returns a fingerprint of admission counts and evicted ids (docs/checkpoint_format.md, "Content
// digests"): a sum over ids and ranges of a sketch, so that the sum over all ranks is the
// fingerprint of the whole table. For a sketch, covers the ranges of `placement`.
absl::uint128 table_state_digest(const AdmissionState& admission, const EvictedLogState& evicted,
                                 const Placement& placement);

// Returns the reasons why rows of a table in a checkpoint do not fit into `table`, a line per
// reason: another dimension or dtype; a slot that is missing, unknown or of another size. Without
// `row_state` slots are ignored.
std::vector<std::string> table_differences(const CheckpointManifest::Table& saved,
                                           const EmbeddingTable& table, bool row_state);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TABLE_TENSORS_H_
