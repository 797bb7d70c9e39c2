// One safetensors file with all weights of a model, for evaluating it and for other programs. It
// holds no optimizer state: training does not continue from it. Bytes: docs/weights_file.md.
#ifndef MILLRACE_CHECKPOINT_WEIGHTS_FILE_H_
#define MILLRACE_CHECKPOINT_WEIGHTS_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "embedding/embedding_table.h"
#include "optim/dense_optimizer.h"

namespace millrace {

// What is known of a weights file besides the weights.
struct WeightsInfo {
  Progress progress;  // without elapsed: equal weights give equal bytes
  // Any texts of the caller, in UTF-8; keys starting with "millrace." are ours.
  std::map<std::string, std::string> metadata;
};

// Writes dense parameters and buffers and the rows of all tables, atomically and durably. Equal
// content gives equal bytes, whatever the order of rows and arguments.
// Errors: InvalidArgument for a name that is bad, taken or starts with "table/" and for an element
// type the format lacks; FailedPrecondition for a table inside a step; those of writing.
absl::Status save_weights(FileSystem& files, const std::string& path,
                          const std::vector<NamedParameter>& dense,
                          absl::Span<const EmbeddingTable* const> tables, const WeightsInfo& info);

// Reads them back: all or nothing. Afterwards each dense tensor has the file's values and each
// table exactly its rows; slots of rows have their initial values.
// Memory: once more that of the file.
// Errors: NotFound for a missing file; DataLoss for one that is damaged; InvalidArgument naming
// file, tensor and nearest name where file and arguments differ in names, shapes or types; nothing
// has changed then. ResourceExhausted if a table has no room for the rows.
absl::StatusOr<WeightsInfo> load_weights(FileSystem& files, const std::string& path,
                                         const std::vector<NamedParameter>& dense,
                                         absl::Span<EmbeddingTable* const> tables);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_WEIGHTS_FILE_H_
