// Parquet files, through Arrow; most columns are decoded by ParquetColumn.
#ifndef MILLRACE_IO_FORMAT_PARQUET_READER_H_
#define MILLRACE_IO_FORMAT_PARQUET_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"

namespace millrace {

// Opens a Parquet file, registered as DataConfig::PARQUET for ".parquet" and ".pq". A row group is
// decoded from its beginning as far as is asked for. What was read in the order of the file is not
// kept; the rest is until another row group is asked for: reading each row once, in pieces of any
// order, costs one pass. What Arrow may take for a reader is capped, and the lengths that the
// footer declares are checked against the cap before anything is allocated. Errors as FileOpener
// says.
absl::StatusOr<std::unique_ptr<FileReader>> open_parquet(
    FileSystem& files, const std::string& path,
    int64_t max_group_bytes = DataConfig::default_instance().max_group_bytes());

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_PARQUET_READER_H_
