// The content of a checkpoint, tensor by tensor and row by row, without its model. Does not depend
// on LibTorch.
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
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/safetensors_header.h"
#include "checkpoint/inspect/table_scan.h"

namespace millrace {

// Returns the rows of all `ids` with a row, in the order of `ids`. `chain`: the result of
// open_chain(). Finds an id by bisection: reads some numbers of 8 bytes, then the chunks that
// contain the id and its row. Reads each chunk once per column, for any number of ids, and compares
// the chunk with its digest. The checked neighbours of an absent id prove that the id has no row.
// Errors: any error of find_columns(); DataLoss for damage and for ids that are not in the order of
// hashes; read errors.
absl::StatusOr<RowBlock> read_rows(absl::Span<const std::unique_ptr<CheckpointReader>> chain,
                                   absl::string_view table, const std::vector<std::string>& columns,
                                   absl::Span<const int64_t> ids);

// A checkpoint and, for a delta, its bases; its tables are complete. All content that it returns
// has been checked against the digests. Thread-safe.
//
//   ASSIGN_OR_RETURN(auto content, CheckpointContent::open(files, "checkpoints/step-00001000"));
//   for (const TensorInfo& tensor : content->tensors()) ...  // "fc.weight", "table/items/ids", ...
//   ASSIGN_OR_RETURN(std::string weight, content->read("fc.weight"));
//   ASSIGN_OR_RETURN(RowBlock rows, content->read_rows("items", {"weights"}, {7, 8}));
class CheckpointContent {
 public:
  using Chain = std::vector<std::unique_ptr<CheckpointReader>>;

  // Opens a checkpoint. Borrows `files`. Errors: any error of open_chain().
  static absl::StatusOr<std::unique_ptr<CheckpointContent>> open(FileSystem& files,
                                                                 const std::string& path);
  // REQUIRES: `chain` is a result of open_chain().
  explicit CheckpointContent(Chain chain) : chain_(std::move(chain)) {}

  const CheckpointManifest& manifest() const { return chain_.back()->manifest(); }
  const std::string& directory() const { return chain_.back()->directory(); }
  const Chain& chain() const { return chain_; }

  // Returns names, types and shapes: the tensors of dense files by name, then per table
  // "table/NAME/ids" and a tensor per column, with all rows. Excludes other tensors of tables, such
  // as admission counts. Does not set places.
  std::vector<TensorInfo> tensors() const;

  // Returns the tensors of dense files only.
  std::vector<TensorInfo> dense_tensors() const;

  // Returns one of tensors(). Errors: NotFound naming the nearest name. Thread-safe, as all
  // functions.
  absl::StatusOr<TensorInfo> find(absl::string_view name) const;

  // Returns the bytes of one of tensors(); reads only the chunks that contain them. Rows are in
  // ascending order of placement hash.
  // Errors: any error of find(); DataLoss for damage; read errors.
  absl::StatusOr<std::string> read(absl::string_view name) const;

  // Reads all rows of a table, or the rows of some ids: see TableScan and the function read_rows().
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
