#include "absl/strings/str_cat.h"
#include "distributed/device_channel.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<DeviceChannel>> connect_device_channel(
    const DeviceChannelOptions& options) {
  return absl::UnimplementedError(
      absl::StrCat("rank ", options.rank, " is to sum tensors of cuda:", options.cuda_device,
                   ", but this program is built for the CPU; build it with --config=cuda"));
}

}  // namespace millrace
