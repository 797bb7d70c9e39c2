// The flag --device.
#ifndef MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
#define MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/rank_environment.h"

namespace millrace {

// Returns the CUDA device of --device for a rank: none for `cpu` and `auto`, N for `cuda:N`, and
// for `cuda` the number of the rank on its machine, or 0 if the rank sees only one device and knows
// of no other ranks on its machine. `devices`: cuda_devices, called only for a device, since the
// call starts the driver. Errors, each in one line: InvalidArgument for another value, for a device
// in a program built for the CPU, for a device that the machine lacks, and for `cuda:N` with
// several ranks.
absl::StatusOr<std::optional<int>> device_of_rank(absl::string_view device,
                                                  absl::FunctionRef<std::optional<int>()> devices,
                                                  const RankEnvironment& ranks);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
