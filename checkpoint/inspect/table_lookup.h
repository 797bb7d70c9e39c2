// Reads the rows of single ids from the files of a checkpoint. Does not depend on LibTorch.
#ifndef MILLRACE_CHECKPOINT_INSPECT_TABLE_LOOKUP_H_
#define MILLRACE_CHECKPOINT_INSPECT_TABLE_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/inspect/table_scan.h"

namespace millrace {

// Returns the rows of all `ids` with a row, in the order of `ids`. `chain`: the result of
// open_chain(). Finds an id by bisection: reads some numbers of 8 bytes, then the chunks that
// contain the id and its row. Reads each chunk once per column, for any number of ids, and compares
// the chunk with its digest. The checked neighbours of an absent id prove that the id has no row.
// Errors: any error of find_columns(); DataLoss for damage and for ids that are not in the order of
// hashes; read errors.
absl::StatusOr<RowBlock> read_rows(absl::Span<const std::unique_ptr<CheckpointReader>> chain,
                                   absl::string_view table, const std::vector<std::string>& columns,
                                   absl::Span<const int64_t> ids);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TABLE_LOOKUP_H_
