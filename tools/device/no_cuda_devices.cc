#include "tools/device/cuda_devices.h"

namespace millrace {

std::optional<int> cuda_devices() { return std::nullopt; }

}  // namespace millrace
