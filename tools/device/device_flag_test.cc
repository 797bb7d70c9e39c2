#include "tools/device/device_flag.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tools/device/cuda_devices.h"

namespace millrace {
namespace {

absl::Status refused(absl::string_view message) { return absl::InvalidArgumentError(message); }

absl::StatusOr<std::optional<int>> device_of(absl::string_view flag, std::optional<int> devices,
                                             const RankEnvironment& ranks) {
  return device_of_rank(
      flag, [devices] { return devices; }, ranks);
}

absl::StatusOr<std::optional<int>> device_of(absl::string_view flag, std::optional<int> devices) {
  return device_of(flag, devices, RankEnvironment());
}

// Returns the second of two ranks of a machine.
RankEnvironment second_of_two() {
  RankEnvironment ranks;
  ranks.rank = ranks.local_rank = 1;
  ranks.world_size = ranks.local_world_size = 2;
  return ranks;
}

TEST(DeviceFlagTest, TheCpuIsAlwaysThere) {
  for (const std::optional<int> devices : {std::optional<int>(), std::optional<int>(0)}) {
    EXPECT_THAT(device_of("cpu", devices), IsOkAndHolds(std::nullopt));
    EXPECT_THAT(device_of("auto", devices), IsOkAndHolds(std::nullopt));
  }
}

TEST(DeviceFlagTest, AutoIsTheCpuWhereThereIsADevice) {
  EXPECT_THAT(device_of("auto", 1), IsOkAndHolds(std::nullopt));
}

TEST(DeviceFlagTest, ProgramForTheCpu) {
  EXPECT_EQ(device_of("cuda:0", std::nullopt).status(),
            refused("--device cuda:0: this program is built for the CPU; use cpu or auto, or a "
                    "program that is built with --config=cuda (docs/cuda.md)"));
}

TEST(DeviceFlagTest, NamesThatAreNone) {
  for (const char* const name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1",
                                 "cuda:0x1", "CPU", "CUDA:0", "cuda:99999999999", "cuda:1,2", ""}) {
    for (const std::optional<int> devices : {std::optional<int>(), std::optional<int>(4)}) {
      EXPECT_EQ(device_of(name, devices).status(),
                refused(std::string("--device ") + name +
                        ": no such device; use cpu, auto, cuda or cuda:N"));
    }
  }
}

TEST(DeviceFlagTest, DevicesThatAreMissing) {
  EXPECT_EQ(device_of("cuda", 0).status(),
            refused("--device cuda: this machine shows no CUDA device; use cpu or auto"));
  EXPECT_EQ(device_of("cuda:2", 2).status(),
            refused("--device cuda:2: this machine shows 2 CUDA devices; use cuda:0 to cuda:1"));
  EXPECT_EQ(device_of("cuda:7", 1).status(),
            refused("--device cuda:7: this machine shows one CUDA device; use cuda:0"));
}

TEST(DeviceFlagTest, NumbersOfDevices) {
  EXPECT_THAT(device_of("cuda", 2), IsOkAndHolds(0));
  EXPECT_THAT(device_of("cuda:1", 2), IsOkAndHolds(1));
}

TEST(DeviceFlagTest, RanksOfAMachineHaveADeviceEach) {
  EXPECT_THAT(device_of("cuda", 2, second_of_two()), IsOkAndHolds(1));
  EXPECT_EQ(device_of("cuda", 1, second_of_two()).status(),
            refused("--device cuda: rank 1 of this machine has no device, of 1 CUDA devices; "
                    "start one rank for each device"));
  EXPECT_EQ(device_of("cuda:0", 2, second_of_two()).status(),
            refused("--device cuda:0: one device for 2 ranks; use --device cuda, which assigns a "
                    "device to each rank"));
}

// SLURM may do this: it passes no number of ranks of the machine, and shows each rank its own
// device.
TEST(DeviceFlagTest, ALauncherMayShowEachRankItsDevice) {
  RankEnvironment ranks = second_of_two();
  ranks.local_world_size = 1;
  EXPECT_THAT(device_of("cuda", 1, ranks), IsOkAndHolds(0));
  EXPECT_THAT(device_of("cuda", 2, ranks), IsOkAndHolds(1));
}

#ifndef USE_C10D_NCCL
TEST(CudaDevicesTest, AreUnknownToAProgramForTheCpu) { EXPECT_EQ(cuda_devices(), std::nullopt); }
#endif

}  // namespace
}  // namespace millrace
