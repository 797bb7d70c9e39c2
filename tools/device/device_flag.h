// The flag --device.
#ifndef MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
#define MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/rank_environment.h"

namespace millrace {

// Returns the CUDA device that --device names for a rank: none for `cpu` and `auto`, N for
// `cuda:N`, and for `cuda` the number of the rank among those of its machine, or 0 where the rank
// sees one device alone and does not know of others on its machine. `devices`: cuda_devices; it is
// called for a device alone, since it starts the driver. Errors, each in one line: InvalidArgument
// for another value, for a device in a program that is built for the CPU, for a device that the
// machine lacks, and for `cuda:N` with several ranks.
absl::StatusOr<std::optional<int>> device_of_rank(absl::string_view device,
                                                  absl::FunctionRef<std::optional<int>()> devices,
                                                  const RankEnvironment& ranks);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
