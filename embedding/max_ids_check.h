// The check of the maximum number of ids per list.
#ifndef MILLRACE_EMBEDDING_MAX_IDS_CHECK_H_
#define MILLRACE_EMBEDDING_MAX_IDS_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks FeatureConfig.max_ids: at least 0, and 1 to 4096 with pooling FIRST_N. Errors:
// InvalidArgument, beginning with `where`, the place of the feature.
absl::Status check_max_ids(absl::string_view where, Pooling pooling, int64_t max_ids);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_MAX_IDS_CHECK_H_
