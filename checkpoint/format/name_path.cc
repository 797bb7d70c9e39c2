#include "checkpoint/format/name_path.h"

#include <utility>

#include "absl/strings/match.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status name_path(absl::Status status, absl::string_view path) {
  return absl::StrContains(status.message(), path) ? status : annotate(std::move(status), path);
}

}  // namespace millrace
