// Implementation for --config=cuda.
#include "tools/device/cuda_devices.h"

#include <c10/cuda/CUDAFunctions.h>

namespace millrace {

std::optional<int> cuda_devices() { return c10::cuda::device_count(); }

}  // namespace millrace
