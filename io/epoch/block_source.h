// Files below the batches: reading columns and transforming columns to features.
#ifndef MILLRACE_IO_EPOCH_BLOCK_SOURCE_H_
#define MILLRACE_IO_EPOCH_BLOCK_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/bad_rows.h"
#include "io/block.h"
#include "io/column.h"
#include "io/cursor.h"
#include "io/epoch/dataset_options.h"
#include "io/epoch/epoch_plan.h"
#include "io/feature/feature_rows.h"
#include "io/feature/sample_filter.h"
#include "io/feature/split_filter.h"
#include "io/files/file_set.h"
#include "io/files/files_in_use.h"
#include "io/hashed_columns.h"
#include "io/time_type.h"
#include "proto/config.pb.h"

namespace millrace {

// Files and features, checked against each other. Immutable except for the list of files being
// read; thread-safe.
class BlockSource {
 public:
  // The source is the same for all ranks. Errors: as FileSet, FeatureTransform, SplitFilter
  // and SampleFilter; InvalidArgument where the files lack the label that a sample needs.
  static absl::StatusOr<std::unique_ptr<BlockSource>> open(const DatasetOptions& options);

  const FileSet& files() const { return files_; }
  const std::vector<Unit>& units() const { return units_; }
  int64_t rows() const { return rows_; }  // of all units
  // Returns the types of Batch::kept: the value type of each of FeatureSchema::kept_columns().
  std::vector<ValueType> kept_types() const;
  // Returns the labels for which the files have no column (DatasetOptions::labels_may_miss).
  std::vector<std::string> missing_labels() const;
  // Returns, with their types, the columns that features (except ids of examples and groups)
  // convert differently for text and for numbers, and those of dates and times. Columns without
  // values are omitted.
  const HashedColumns& hashed_columns() const { return hashed_columns_; }
  // Returns the paths of the files that readers are opening or reading now, for NamesFiles.
  std::string files_being_read() const;

 private:
  friend class BlockReader;

  // A column as read; two features of one column share a request where possible.
  struct Request {
    int64_t column;  // index into files().columns()
    ValueType as;
    bool as_stored = false;  // dates and times in the unit of the file
    friend bool operator==(const Request&, const Request&) = default;
  };

  BlockSource(FileSet files, SplitFilter split, SampleFilter sample)
      : files_(std::move(files)), split_(std::move(split)), sample_(std::move(sample)) {}
  void add_kept_column(const std::string& name, const CsvConfig& csv);
  absl::Status add_feature(const FeatureConfig& config, const DatasetOptions& options);
  absl::Status add_missing_of(const std::string& name, const DatasetOptions& options);
  ValueType type_for(const FeatureConfig& config, int64_t column) const;
  void add_hashed_column(int64_t column);
  // Sets time_types_. Errors: InvalidArgument for times of another meaning than in `types`.
  absl::Status add_time_types(const std::map<std::string, std::string>& types);
  int64_t add_request(Request request);
  void find_last_uses();

  FileSet files_;
  SplitFilter split_;
  SampleFilter sample_;
  std::string sample_column_;  // of its label
  int64_t first_file_ = 0;
  int64_t file_step_ = 1;
  int64_t split_request_ = -1;  // -1: the split needs no column
  bool skip_bad_ = false;       // DataConfig::SKIP
  std::vector<Unit> units_;
  int64_t rows_ = 0;
  std::vector<FeatureSource> features_;  // their columns are requests
  std::vector<Request> requests_;
  HashedColumns hashed_columns_;
  std::vector<TimeType> time_types_;    // of each of files().columns(), to convert to
  std::vector<int64_t> kept_requests_;  // for each of FeatureSchema::kept_columns()
  mutable FilesInUse in_use_;           // by readers
};

// Reads blocks of a source; one for each thread. Keeps a few files open.
class BlockReader {
 public:
  // `source` must outlive it.
  explicit BlockReader(const BlockSource& source) : source_(source) {}

  // Reads a block of a plan made of source.units(); its order holds the rows at the positions
  // of `range`, except rows outside split and sample and, with DataConfig::SKIP, bad rows.
  // REQUIRES: `range` is within the block.
  // Errors: DataLoss and others, naming file and place; InvalidArgument for a row of a kept column
  // with several values; Cancelled once `cancelled` is true.
  absl::StatusOr<Block> read(const EpochPlan& plan, int64_t block, RowInterval range,
                             const std::atomic<bool>& cancelled);

 private:
  struct CachedFile {
    int64_t file;
    FileSet::OpenFile open;
  };

  absl::StatusOr<FileSet::OpenFile*> file(int64_t file);
  // Sets place->lines.
  absl::StatusOr<std::vector<Column>> read_columns(const Unit& unit, BadRows& bad,
                                                   ColumnPlace* place);
  std::vector<Column> no_columns(int64_t rows) const;
  absl::Status append_unit(const Unit& unit, int64_t epoch, BadRows& bad, Block* block,
                           std::vector<uint8_t>* keep);
  absl::Status sample(absl::Span<const int64_t> numbers, int64_t epoch, ColumnPlace place,
                      BadRows& bad, Block* block, std::vector<uint8_t>* keep) const;
  // Appends kept columns, converted to their common types over all files.
  absl::Status append_kept(absl::Span<Column> columns, int64_t rows, ColumnPlace place,
                           const BadRows& bad, Block* block) const;

  const BlockSource& source_;
  std::vector<CachedFile> open_files_;  // the last used comes last
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BLOCK_SOURCE_H_
