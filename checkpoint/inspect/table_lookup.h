// Rows of single ids, read from the files of a checkpoint without the rest. Knows no LibTorch.
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

// Rows of those `ids` that have one, in the order of `ids`, of a chain as open_chain gives it. An
// id is found by bisection: some numbers of 8 bytes are read, then the chunks in which it and its
// row lie. Each of these is read once for each column, whatever the number of ids, and compared
// with its digest; that an id has no row is shown by its checked neighbours.
// Errors: those of find_columns; DataLoss for damage and for ids that are not in the order of
// hashes; those of reading.
absl::StatusOr<RowBlock> read_rows(absl::Span<const std::unique_ptr<CheckpointReader>> chain,
                                   absl::string_view table, const std::vector<std::string>& columns,
                                   absl::Span<const int64_t> ids);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TABLE_LOOKUP_H_
