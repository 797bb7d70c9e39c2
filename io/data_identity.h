// Whether two jobs read the same data.
#ifndef MILLRACE_IO_DATA_IDENTITY_H_
#define MILLRACE_IO_DATA_IDENTITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// Of each file its name without the directory, its size and the XXH3-128 of its last 64 KiB (32
// hexadecimal digits), where Parquet and ORC keep their footers. What changes neither size nor end
// of a file goes unseen. If `may_be_missing`, a missing file has neither size nor digest.
// Errors: those of reading.
absl::StatusOr<DataIdentity> data_identity(FileSystem& files,
                                           const std::vector<std::string>& paths,
                                           bool may_be_missing = false);

// In what they differ, a line for each file: "file 2 is c.csv, not b.csv", "b.csv has 80 bytes, not
// 90", "b.csv is missing"; at most `limit` lines and one that says how many more there are. None: they are the same, or
// one of them is not known.
std::vector<std::string> data_differences(const DataIdentity& before, const DataIdentity& now,
                                          size_t limit = 20);

}  // namespace millrace

#endif  // MILLRACE_IO_DATA_IDENTITY_H_
