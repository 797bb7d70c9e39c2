#include "tools/device/device_flag.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

// The number of a device, 0 for "cuda"; nothing for what names no device.
std::optional<int32_t> number_of(absl::string_view device) {
  if (device == "cuda") return 0;
  int32_t number = 0;
  const bool names_one = absl::ConsumePrefix(&device, "cuda:") &&
                         device.find_first_not_of("0123456789") == absl::string_view::npos &&
                         absl::SimpleAtoi(device, &number);
  return names_one ? std::optional<int32_t>(number) : std::nullopt;
}

}  // namespace

absl::Status check_device_flag(absl::string_view device, std::optional<int> devices) {
  if (device == "cpu" || device == "auto") return absl::OkStatus();
  const auto refused = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat("--device ", device, ": ", why...));
  };
  if (!devices) return refused("this program is built for the CPU; use cpu or auto");
  const std::optional<int32_t> number = number_of(device);
  if (!number) return refused("no such device; use cpu, auto, cuda or cuda:N");
  if (*devices == 0) return refused("this machine shows no CUDA device; use cpu or auto");
  if (*number >= *devices) {
    return refused("this machine shows ", *devices,
                   " CUDA devices; use cuda:0 to cuda:", *devices - 1);
  }
  return absl::UnimplementedError(
      absl::StrCat("--device ", device, ": no command computes on a device yet; use cpu or auto"));
}

}  // namespace millrace
