// What `millrace checkpoint read` prints: numbers of a checkpoint.
#ifndef MILLRACE_TOOLS_CHECKPOINT_VALUES_H_
#define MILLRACE_TOOLS_CHECKPOINT_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "checkpoint/checkpoint_content.h"

namespace millrace {

// One tensor: name, type, shape, and its numbers, a line for each index of the first dimension, at
// most `max_lines` of them.
// Errors of all: those of CheckpointContent.
absl::StatusOr<std::string> tensor_text(const CheckpointContent& content, const std::string& name,
                                        int64_t max_lines);
// As one JSON object: name, dtype, shape, values: all numbers in one list, in the order of the
// file. Those that are not finite are null, booleans are true and false.
absl::StatusOr<std::string> tensor_json(const CheckpointContent& content, const std::string& name);

// Rows of ids: a line for each id and column, or that the id has no row.
absl::StatusOr<std::string> rows_text(const CheckpointContent& content, const std::string& table,
                                      absl::Span<const int64_t> ids);
// As one JSON object: table, rows: [{id, COLUMN: a number or a list}], missing: ids without a row.
absl::StatusOr<std::string> rows_json(const CheckpointContent& content, const std::string& table,
                                      absl::Span<const int64_t> ids);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_VALUES_H_
