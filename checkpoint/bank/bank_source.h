// One source of a model bank.
#ifndef MILLRACE_CHECKPOINT_BANK_BANK_SOURCE_H_
#define MILLRACE_CHECKPOINT_BANK_BANK_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/bank/bank_plan.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/state/train_state.h"
#include "embedding/table/table_rows.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns all items of a model, in the order of its state, without optimizer state.
std::vector<BankItem> model_items(const TrainState& target);

// The checkpoint or file that a source's path currently resolves to.
struct SourcePlace {
  std::string path;     // of one checkpoint, or of a file with rows; "": none exists
  std::string version;  // differs if the content differs
  // Errors of newer checkpoints of a folder that were skipped, newest first.
  std::vector<std::string> passed_over;
};

// Resolves the path of a source: a checkpoint, a file, or the newest checkpoint of a folder or an
// output directory whose every byte verifies. Borrows `files` for the call.
// Errors: NotFound, unless the source is optional; DataLoss if no checkpoint of a folder verifies;
// read errors.
absl::StatusOr<SourcePlace> find_source(const SourceConfig& config, FileSystem& files,
                                        ThreadPool& threads);

// An open source. Borrows the file system.
class BankSource {
 public:
  // Opens a source. `target`: the state to load into. `features`: features of the job, for files
  // whose ids are text.
  // Errors: any error of CheckpointReader, open_chain() and read_rows_file(); FailedPrecondition if
  // a checkpoint lacks a requested part; Aborted if the checkpoint is not the one in `place`.
  static absl::StatusOr<std::unique_ptr<BankSource>> open(
      const SourceConfig& config, const SourcePlace& place, FileSystem& files,
      const TrainState& target, const std::vector<FeatureConfig>& features);

  const std::vector<BankItem>& items() const { return items_; }
  // For a checkpoint: the checkpoint after all its bases, oldest first. Empty for a file with rows.
  const std::vector<std::unique_ptr<CheckpointReader>>& chain() const { return chain_; }
  const CheckpointReader& checkpoint() const { return *chain_.back(); }
  // Rows of a file; empty for a checkpoint. Columns that the model adds and the file lacks have the
  // initial values of each id.
  const TableRows& rows() const { return rows_; }
  // Number of columns in the file, without the columns that were added to rows().
  int64_t file_columns() const { return file_columns_; }
  const FileIdentity& identity() const { return identity_; }

 private:
  BankSource() = default;
  absl::Status open_rows(const SourceConfig& config, const std::string& path, FileSystem& files,
                         const TrainState& target, const std::vector<FeatureConfig>& features);
  absl::Status check_parts(const SourceConfig& config) const;
  void list_items();

  std::vector<BankItem> items_;
  std::vector<std::unique_ptr<CheckpointReader>> chain_;
  TableRows rows_;
  int64_t file_columns_ = 0;
  FileIdentity identity_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_BANK_SOURCE_H_
