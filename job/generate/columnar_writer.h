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

// Columns are those of the Criteo data in ORC: label and i1 ... i13 as list<double>, c1 ... c26 as
// list<int64>; a missing value is an empty list. The file is written aside and appears under its
// path when close() succeeds; without that nothing is left of it. Not thread-safe.
class ColumnarWriter {
 public:
  // `files` must outlive the writer. Errors: those of creating the file, which name it.
  static absl::StatusOr<std::unique_ptr<ColumnarWriter>> create(FileSystem& files,
                                                                const std::string& path,
                                                                ColumnarFormat format);
  virtual ~ColumnarWriter() = default;

  // Adds examples; in Parquet they become one row group.
  // Errors: those of writing the file; Internal with what Arrow said. After one, only destroy it.
  virtual absl::Status append(absl::Span<const PlantedExample> examples) = 0;
  virtual absl::Status close() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_COLUMNAR_WRITER_H_
