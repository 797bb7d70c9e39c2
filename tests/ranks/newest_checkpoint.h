// The content of the newest checkpoint of a job over ranks.
#ifndef MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_
#define MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

// Reads the newest checkpoint of a folder. Returns its step and the digests of its whole content,
// which do not depend on the number of ranks: "step 12, ...". Errors: any error of the read;
// NotFound if there is none.
absl::StatusOr<std::string> content_of_newest(FileSystem& files, const std::string& folder);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_NEWEST_CHECKPOINT_H_
