// What the newest checkpoint of a job over ranks holds.
#ifndef MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_
#define MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

// Reads the newest checkpoint of a folder. Returns: its step and the digests of all its content,
// the same whatever number of ranks wrote it: "step 12, ...". Errors: those of reading it; NotFound
// if there is none.
absl::StatusOr<std::string> content_of_newest(FileSystem& files, const std::string& folder);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_
