// The flag --device.
#ifndef MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
#define MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Checks the value of --device: cpu, auto, cuda or cuda:N. `devices` is what cuda_devices()
// returns. Errors, each in one line: InvalidArgument for another value, for a device in a program
// that is built for the CPU and for a device that the machine lacks; Unimplemented for a device
// that it has, since no command computes there yet.
absl::Status check_device_flag(absl::string_view device, std::optional<int> devices);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DEVICE_DEVICE_FLAG_H_
