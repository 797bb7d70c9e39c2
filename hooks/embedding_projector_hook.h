// Rows of tables for TensorBoard's projector.
#ifndef MILLRACE_HOOKS_EMBEDDING_PROJECTOR_HOOK_H_
#define MILLRACE_HOOKS_EMBEDDING_PROJECTOR_HOOK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "proto/inspection_hook_configs.pb.h"

namespace millrace {

class EmbeddingCollection;
class EmbeddingTable;

// Writes, for each configured table at the end of training, the rows with the most lookups as
// projector_TABLE.tsv (a line of weights per row, without the columns added by the model) and
// projector_TABLE_ids.tsv (id and number of lookups), and lists both in projector_config.pbtxt.
// Existing files are replaced. With several ranks, each writes the first rows of its own part of a
// table, rank N in the subdirectory rank-N; the files of rank 0 list those of all. Reads a table
// without a copy.
class EmbeddingProjectorHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "embedding_projector";

  // Borrows all. REQUIRES: check(config) returns OK.
  EmbeddingProjectorHook(FileSystem& files, const std::string& output_dir,
                         std::vector<EmbeddingCollection*> collections,
                         const EmbeddingProjectorConfig& config);
  // Errors: InvalidArgument with a line for each wrong field.
  static absl::Status check(const EmbeddingProjectorConfig& config);
  // Creates the hook from EmbeddingProjectorConfig. Errors: errors of check(); InvalidArgument with
  // a line per table missing in the model.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  absl::Status check_tables() const;
  absl::StatusOr<const EmbeddingTable*> find(const std::string& table) const;
  absl::Status write(const EmbeddingTable& table, int64_t rows, int rank);

  FileSystem& files_;
  const std::string directory_;
  const std::vector<EmbeddingCollection*> collections_;
  const EmbeddingProjectorConfig config_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EMBEDDING_PROJECTOR_HOOK_H_
