// The CUDA devices of this machine.
#ifndef MILLRACE_TOOLS_DEVICE_CUDA_DEVICES_H_
#define MILLRACE_TOOLS_DEVICE_CUDA_DEVICES_H_

#include <optional>

namespace millrace {

// Returns the number of devices that the driver shows, or nothing in a program built for the CPU.
std::optional<int> cuda_devices();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DEVICE_CUDA_DEVICES_H_
