#include "tools/device/device_flag.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

// Returns the number after "cuda:", or nothing if `device` names no number.
std::optional<int32_t> number_of(absl::string_view device) {
  int32_t number = 0;
  const bool names_one = absl::ConsumePrefix(&device, "cuda:") &&
                         device.find_first_not_of("0123456789") == absl::string_view::npos &&
                         absl::SimpleAtoi(device, &number);
  return names_one ? std::optional<int32_t>(number) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<int>> device_of_rank(absl::string_view device,
                                                  absl::FunctionRef<std::optional<int>()> devices,
                                                  const RankEnvironment& ranks) {
  if (device == "cpu" || device == "auto") return std::nullopt;
  const auto refused = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat("--device ", device, ": ", why...));
  };
  const bool by_rank = device == "cuda";
  const std::optional<int32_t> number = by_rank ? ranks.local_rank : number_of(device);
  if (!number) return refused("no such device; use cpu, auto, cuda or cuda:N");
  const std::optional<int> count = devices();
  if (!count) {
    return refused(
        "this program is built for the CPU; use cpu or auto, or a program that is built with "
        "--config=cuda (docs/cuda.md)");
  }
  if (*count == 0) return refused("this machine shows no CUDA device; use cpu or auto");
  if (!by_rank && ranks.world_size > 1) {
    return refused("one device for ", ranks.world_size,
                   " ranks; use --device cuda, which assigns a device to each rank");
  }
  // A launcher may show each rank only its own device.
  if (by_rank && *count == 1 && ranks.local_world_size == 1) return 0;
  if (by_rank && *number >= *count) {
    return refused("rank ", *number, " of this machine has no device, of ", *count,
                   " CUDA devices; start one rank for each device");
  }
  if (*number >= *count) {
    if (*count == 1) return refused("this machine shows one CUDA device; use cuda:0");
    return refused("this machine shows ", *count, " CUDA devices; use cuda:0 to cuda:", *count - 1);
  }
  return *number;
}

}  // namespace millrace
