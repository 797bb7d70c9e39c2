// Models in checkpoints as files for others.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "checkpoint/inspect/checkpoint_content.h"

namespace millrace {

enum class ExportFormat { kSafetensors, kParquet };

// By name: "safetensors" or "parquet". Errors: InvalidArgument for another one.
absl::StatusOr<ExportFormat> parse_export_format(absl::string_view name);

struct ExportOptions {
  std::string output;
  // Only this one, to the file `output`; "": all, to the new directory `output`.
  std::string table = {};
  ExportFormat format = ExportFormat::kSafetensors;  // of tables
  // Only the rows that the checkpoint itself holds, a delta, and the ids that went.
  bool delta = false;
  // Whether the files that the job refers to are copied into a directory
  // (tools/checkpoint/referred_export.h); not with `delta`, whose base has them. From here; null:
  // the file system that is written to.
  bool referred_files = true;
  FileSystem* sources = nullptr;
};

struct ExportedFile {
  std::string path;
  int64_t rows = 0;     // of a table
  int64_t removed = 0;  // ids that went
};

// Writes ids, weights, frequencies and last steps of tables (those that the checkpoint has), by
// ascending placement hash, and dense parameters and buffers; no state of optimizers.
//   NAME.safetensors   tensors as in the checkpoint, with table/NAME/tombstones of a delta
//   NAME.parquet       as write_table_parquet() says
// A directory has dense.safetensors and table-NAME.safetensors or table-NAME.parquet for each table
// with rows, and the files that the job refers to. `output` appears at once and whole, or not at
// all. Memory: that of a TableScan, and the largest dense tensor. Errors: PermissionDenied if there
// is something of that name, or no directory to write into; InvalidArgument for `delta` of a
// checkpoint that is none, or a place in a checkpoint; NotFound for a table without rows there;
// those of export_referred_files, of reading and writing.
absl::StatusOr<std::vector<ExportedFile>> export_checkpoint(FileSystem& files,
                                                            const CheckpointContent& content,
                                                            const ExportOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_EXPORT_H_
