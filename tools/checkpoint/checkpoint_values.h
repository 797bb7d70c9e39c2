// The output of `millrace checkpoint read`: numbers of a checkpoint.
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

// Returns a tensor: name, type, shape, and at most `max_lines` lines of numbers, a line per index
// of the first dimension. Errors of all functions: errors of CheckpointContent.
absl::StatusOr<std::string> tensor_text(const CheckpointContent& content, const std::string& name,
                                        int64_t max_lines);
// Returns a tensor as a JSON object: name, dtype, shape, values (all numbers in a list, in the
// order of the file). Numbers that are not finite are null, booleans are true and false.
absl::StatusOr<std::string> tensor_json(const CheckpointContent& content, const std::string& name);

// Requested rows.
struct AskedRows {
  std::vector<int64_t> ids;
  std::map<std::string, int64_t> texts = {};  // the ids that were given as text
};

// Converts words to ids of a table: integers unchanged, texts (with `text` all words) by the
// features of the configuration in the manifest. `files` hold vocabularies.
// Errors: InvalidArgument for a text if no feature of the table makes ids of text; NotFound for
// words missing in a vocabulary; errors of TextIds.
absl::StatusOr<AskedRows> asked_rows(const CheckpointManifest& manifest, const std::string& table,
                                     const std::vector<std::string>& words, bool text,
                                     FileSystem& files);

// Returns rows for people: a line per id and column, or a line that the id has no row.
absl::StatusOr<std::string> rows_text(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked);
// Returns rows as a JSON object: table, rows: [{id, COLUMN: a number or a list}], missing: ids
// without a row, and with texts ids: {TEXT: id}.
absl::StatusOr<std::string> rows_json(const CheckpointContent& content, const std::string& table,
                                      const AskedRows& asked);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_VALUES_H_
