// Export of models in checkpoints to files for other programs.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

enum class ExportFormat { kSafetensors, kParquet };

// Parses "safetensors" or "parquet". Errors: InvalidArgument for another name.
absl::StatusOr<ExportFormat> parse_export_format(absl::string_view name);

struct ExportOptions {
  std::string output;
  // Table to export to the file `output`; "": everything, to the new directory `output`.
  std::string table = {};
  ExportFormat format = ExportFormat::kSafetensors;  // of tables
  // If true, exports only the rows stored in a delta, and the removed ids.
  bool delta = false;
  // If true, copies the files that the job refers to into the directory. Not with
  // `delta`, whose base has the files. `sources`: the file system to copy from; null: the file
  // system of the output.
  bool referred_files = true;
  FileSystem* sources = nullptr;
};

struct ExportedFile {
  std::string path;
  int64_t rows = 0;     // of a table
  int64_t removed = 0;  // removed ids
};

// Writes ids, weights, frequencies and last steps of tables (as far as the checkpoint has them), by
// ascending placement hash, and dense parameters and buffers. Writes no optimizer state.
//   NAME.safetensors   tensors as in the checkpoint, with table/NAME/tombstones of a delta
//   NAME.parquet       see write_table_parquet()
// A directory has dense.safetensors, table-NAME.safetensors or table-NAME.parquet for each table
// with rows, and the files that the job refers to. `output` appears at once and complete, or not at
// all. Memory: a TableScan, and the largest dense tensor.
// Errors: PermissionDenied if `output` exists, or its directory does not; InvalidArgument for
// `delta` of a checkpoint that is not a delta, or a place in a checkpoint; NotFound for a table
// without rows in the checkpoint; errors of export_referred_files, of reading and writing.
absl::StatusOr<std::vector<ExportedFile>> export_checkpoint(FileSystem& files,
                                                            const CheckpointContent& content,
                                                            const ExportOptions& options);

// Copies the files that a manifest refers to from `sources` into DIRECTORY/referred_files, under
// their names. Later files of the same name get numbers ("1-words.txt"). Writes
// DIRECTORY/referred_files.json, an array of objects: `file` (relative to the directory), `path`
// (the original path), `size`, `digest`, `used_by`. Writes nothing if the manifest refers to no
// files. Returns: paths of the written files.
// Errors: NotFound and FailedPrecondition for files that changed since the checkpoint was written;
// InvalidArgument for URIs, pipes and devices, which are not opened; errors of reading and writing.
absl::StatusOr<std::vector<std::string>> export_referred_files(FileSystem& sources,
                                                               const CheckpointManifest& manifest,
                                                               FileSystem& files,
                                                               const std::string& directory);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_
