// Writes planted examples to one Parquet or ORC file.
#ifndef MILLRACE_JOB_GENERATE_COLUMNAR_WRITER_H_
#define MILLRACE_JOB_GENERATE_COLUMNAR_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "job/generate/planted_model.h"

namespace millrace {

enum class ColumnarFormat { kParquet, kOrc };

// A writer of examples with the columns of the Criteo data in ORC: label and i1 ... i13 as
// list<double>, c1 ... c26 as list<int64>; a missing value is an empty list. The file has a
// temporary name until close() succeeds; otherwise nothing remains. Not thread-safe.
class ColumnarWriter {
 public:
  // Creates the file. `files` must outlive the writer. Errors: errors of creating the file, with
  // its name.
  static absl::StatusOr<std::unique_ptr<ColumnarWriter>> create(FileSystem& files,
                                                                const std::string& path,
                                                                ColumnarFormat format);
  virtual ~ColumnarWriter() = default;

  // Appends examples, in Parquet as one row group. Errors: errors of writing the file; Internal
  // with Arrow's message. After an error, only destroy the writer.
  virtual absl::Status append(absl::Span<const PlantedExample> examples) = 0;
  virtual absl::Status close() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_COLUMNAR_WRITER_H_
