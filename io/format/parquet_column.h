// One column of a Parquet row group, decoded straight into a Column. Arrow's own reader makes
// arrays with room for nulls and validity bits first, which costs more than the decoding.
// Included by the reader's .cc files only.
#ifndef MILLRACE_IO_FORMAT_PARQUET_COLUMN_H_
#define MILLRACE_IO_FORMAT_PARQUET_COLUMN_H_

#include <arrow/status.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>

#include <array>
#include <cstdint>
#include <memory>

#include "io/column.h"

namespace millrace {

// Levels of a piece of a column; one for all columns, which are decoded one after the other.
struct ParquetLevels {
  static constexpr int64_t kCount = 2048;
  std::array<int16_t, kCount> definition;
  std::array<int16_t, kCount> repetition;
};

// The description of one column in a row group.
struct ParquetColumnOptions {
  std::shared_ptr<parquet::ColumnReader> reader;
  int64_t rows = 0;       // of the row group
  int64_t max_bytes = 0;  // that decoded values, or the levels of a column, may take
};

// Decodes from the first row on, and keeps what was not taken. Used by one thread. Its calls throw
// what Parquet's library throws on damage.
class ParquetColumn {
 public:
  virtual ~ParquetColumn() = default;

  // Returns true if a field of a file is of a kind that is decoded here: numbers, times in 32 or 64
  // bits and byte strings, plain or in lists. All else (decimals, 96-bit times, Arrow's
  // dictionaries,
  // ...) is left to Arrow.
  static bool can_decode(const parquet::arrow::SchemaField& field,
                         const parquet::SchemaDescriptor& schema);

  // REQUIRES: can_decode(field, ...); options.reader reads its leaf.
  static std::unique_ptr<ParquetColumn> create(const parquet::arrow::SchemaField& field,
                                               ParquetColumnOptions options);

  // The first row that is still there.
  virtual int64_t first_row() const = 0;

  // Decodes the rows of the group before `end`. Where those that are kept would take more than
  // max_bytes, rows before `begin` are dropped.
  // Errors: IOError if there are fewer, or more than the row group has, or values are missing;
  // OutOfMemory where rows from `begin` on take more than max_bytes.
  virtual arrow::Status decode(int64_t begin, int64_t end, ParquetLevels& levels) = 0;

  // Forgets rows before `row`, as far as it is decoded.
  virtual void drop_before(int64_t row) = 0;

  // Returns rows [begin, end), which must be decoded and not yet removed. If the range begins at
  // the first remaining row, its rows are moved out and removed: reading on from the beginning
  // keeps and copies little.
  virtual Column take(int64_t begin, int64_t end) = 0;

  // Returns the number of bytes of decoded values.
  virtual int64_t bytes() const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_PARQUET_COLUMN_H_
