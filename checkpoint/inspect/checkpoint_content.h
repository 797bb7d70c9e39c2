// What a checkpoint holds, tensor by tensor and row by row, without the model that it is of. Knows
// no LibTorch.
#ifndef MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_CONTENT_H_
#define MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_CONTENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/format/safetensors_header.h"
#include "checkpoint/inspect/table_lookup.h"
#include "checkpoint/inspect/table_scan.h"

namespace millrace {

// A checkpoint, and if it is a delta those that it builds on: tables are whole. What is handed out
// has been checked against its digests. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto content, CheckpointContent::open(files, "checkpoints/step-00001000"));
//   for (const TensorInfo& tensor : content->tensors()) ...  // "fc.weight", "table/items/ids", ...
//   ASSIGN_OR_RETURN(std::string weight, content->read("fc.weight"));
//   ASSIGN_OR_RETURN(RowBlock rows, content->read_rows("items", {"weights"}, {7, 8}));
class CheckpointContent {
 public:
  using Chain = std::vector<std::unique_ptr<CheckpointReader>>;

  // Borrows `files`. Errors: those of open_chain.
  static absl::StatusOr<std::unique_ptr<CheckpointContent>> open(FileSystem& files,
                                                                 const std::string& path);
  // REQUIRES: as open_chain gives it.
  explicit CheckpointContent(Chain chain) : chain_(std::move(chain)) {}

  const CheckpointManifest& manifest() const { return chain_.back()->manifest(); }
  const std::string& directory() const { return chain_.back()->directory(); }
  const Chain& chain() const { return chain_; }

  // Names, types and shapes: those of dense files by name, then of each table "table/NAME/ids" and
  // a tensor for each of its columns, with all rows. What else tables keep, such as admission
  // counts, is not among them. Places are not set.
  std::vector<TensorInfo> tensors() const;

  // Only those of dense files.
  std::vector<TensorInfo> dense_tensors() const;

  // One of tensors(). Errors: NotFound naming the nearest. Thread-safe, as all.
  absl::StatusOr<TensorInfo> find(absl::string_view name) const;

  // The bytes of one of tensors(); only what they lie in is read. Rows are by ascending placement
  // hash. Errors: those of find; DataLoss for damage; those of reading.
  absl::StatusOr<std::string> read(absl::string_view name) const;

  // All rows of a table, or those of some ids: see there.
  absl::StatusOr<std::unique_ptr<TableScan>> scan(absl::string_view table,
                                                  const std::vector<std::string>& columns) const {
    return TableScan::open(chain_, table, columns);
  }
  absl::StatusOr<RowBlock> read_rows(absl::string_view table,
                                     const std::vector<std::string>& columns,
                                     absl::Span<const int64_t> ids) const {
    return millrace::read_rows(chain_, table, columns, ids);
  }

 private:
  absl::StatusOr<std::string> read_dense(absl::string_view name) const;
  absl::StatusOr<std::string> read_column(absl::string_view table, const std::string& column) const;

  const Chain chain_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_CONTENT_H_
