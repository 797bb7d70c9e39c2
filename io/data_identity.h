// Identity of data files, to find out whether a job resumes with the same data.
#ifndef MILLRACE_IO_DATA_IDENTITY_H_
#define MILLRACE_IO_DATA_IDENTITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// Returns for each file its name without the directory, its size and the XXH3-128 of its last 64
// KiB (32 hexadecimal digits), which contain the footers of Parquet and ORC. A change that keeps
// both size and end of a file is not detected. The digest of a file of at most `whole_bytes` covers
// all bytes. If `may_be_missing`, a missing file has neither size nor digest; otherwise it is an
// error. Errors: FileSystem's, InvalidArgument for a pipe or a device (check_rereadable), and
// DataLoss for a file that became shorter; all name the file.
absl::StatusOr<DataIdentity> data_identity(FileSystem& files, const std::vector<std::string>& paths,
                                           bool may_be_missing = false, int64_t whole_bytes = 0);

// Returns a line for each file that differs: "file 2 is c.csv, not b.csv", "b.csv has 80 bytes, not
// 90", "b.csv is missing"; after `limit` lines, one line with the number of further files. Returns
// nothing if both are the same, or if either is unknown.
std::vector<std::string> data_differences(const DataIdentity& before, const DataIdentity& now,
                                          size_t limit = 20);

}  // namespace millrace

#endif  // MILLRACE_IO_DATA_IDENTITY_H_
