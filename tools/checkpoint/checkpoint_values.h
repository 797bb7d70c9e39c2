// What `millrace checkpoint read` prints: numbers of a checkpoint.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_VALUES_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// One tensor: name, type, shape, and its numbers, a line for each index of the first dimension, at
// most `max_lines` of them.
// Errors of all: those of CheckpointContent.
absl::StatusOr<std::string> tensor_text(const CheckpointContent& content, const std::string& name,
                                        int64_t max_lines);
// As one JSON object: name, dtype, shape, values: all numbers in one list, in the order of the
// file. Those that are not finite are null, booleans are true and false.
absl::StatusOr<std::string> tensor_json(const CheckpointContent& content, const std::string& name);

// Rows that are asked for.
struct AskedRows {
  std::vector<int64_t> ids;
  std::map<std::string, int64_t> texts = {};  // those of `ids` that were given as text
};

// Understands ids of a table: integers as they are, texts (with `text` all of them) as the features
// of the configuration in the manifest make ids of them. `files` hold vocabularies.
// Errors: InvalidArgument for a text where no feature of the table makes ids of text; NotFound for
// words that a vocabulary lacks; those of TextIds.
absl::StatusOr<AskedRows> asked_rows(const CheckpointManifest& manifest, const std::string& table,
                                     const std::vector<std::string>& words, bool text,
                                     FileSystem& files);

// Rows of ids: a line for each id and column, or that the id has no row.
absl::StatusOr<std::string> rows_text(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked);
// As one JSON object: table, rows: [{id, COLUMN: a number or a list}], missing: ids without a row;
// if there are texts, ids: {TEXT: id}.
absl::StatusOr<std::string> rows_json(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_VALUES_H_
