#include "bench/arrow_read.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

arrow::Result<int64_t> read_parquet(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                    const std::vector<std::string>& columns) {
  ARROW_ASSIGN_OR_RAISE(const auto reader,
                        parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
  reader->set_use_threads(false);
  std::vector<int> leaves;
  for (const auto& field : reader->manifest().schema_fields) {
    if (std::find(columns.begin(), columns.end(), field.field->name()) == columns.end()) continue;
    add_leaves(field, &leaves);
  }
  int64_t rows = 0;
  for (int group = 0; group < reader->num_row_groups(); ++group) {
    ARROW_ASSIGN_OR_RAISE(const auto table, reader->ReadRowGroup(group, leaves));
    rows += table->num_rows();
  }
  return rows;
}

arrow::Result<int64_t> read_orc(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                const std::vector<std::string>& columns) {
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::adapters::orc::ORCFileReader::Open(
                                               file, arrow::default_memory_pool()));
  int64_t rows = 0;
  for (int64_t stripe = 0; stripe < reader->NumberOfStripes(); ++stripe) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader->ReadStripe(stripe, columns));
    rows += batch->num_rows();
  }
  return rows;
}

arrow::Result<int64_t> read_any(const std::string& path, const std::vector<std::string>& columns) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path));
  return absl::EndsWith(path, ".orc") ? read_orc(file, columns) : read_parquet(file, columns);
}

}  // namespace

bool arrow_reads(const std::string& path) {
  return absl::EndsWith(path, ".orc") || absl::EndsWith(path, ".parquet") ||
         absl::EndsWith(path, ".pq");
}

absl::StatusOr<int64_t> read_with_arrow(const std::string& path,
                                        const std::vector<std::string>& columns) {
  const arrow::Result<int64_t> rows = read_any(path, columns);
  if (rows.ok()) return *rows;
  return absl::InvalidArgumentError(
      absl::StrCat("Arrow cannot read ", path, ": ", rows.status().ToString()));
}

}  // namespace millrace
