#include "tools/device/device_flag.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tools/device/cuda_devices.h"

namespace millrace {
namespace {

absl::Status refused(absl::string_view message) { return absl::InvalidArgumentError(message); }

TEST(DeviceFlagTest, TheCpuIsAlwaysThere) {
  for (const std::optional<int> devices : {std::optional<int>(), std::optional<int>(0)}) {
    EXPECT_OK(check_device_flag("cpu", devices));
    EXPECT_OK(check_device_flag("auto", devices));
  }
}

TEST(DeviceFlagTest, ProgramForTheCpu) {
  EXPECT_EQ(check_device_flag("cuda:0", std::nullopt),
            refused("--device cuda:0: this program is built for the CPU; use cpu or auto"));
}

TEST(DeviceFlagTest, NamesThatAreNone) {
  for (const char* const name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1",
                                 "CUDA:0", "cuda:99999999999", "cuda:1,2", ""}) {
    EXPECT_EQ(check_device_flag(name, 4),
              refused(std::string("--device ") + name +
                      ": no such device; use cpu, auto, cuda or cuda:N"));
  }
}

TEST(DeviceFlagTest, DevicesThatAreMissing) {
  EXPECT_EQ(check_device_flag("cuda", 0),
            refused("--device cuda: this machine shows no CUDA device; use cpu or auto"));
  EXPECT_EQ(check_device_flag("cuda:2", 2),
            refused("--device cuda:2: this machine shows 2 CUDA devices; use cuda:0 to cuda:1"));
}

TEST(DeviceFlagTest, DevicesThatAreThereAreNotUsedYet) {
  for (const char* const name : {"cuda", "cuda:0", "cuda:1"}) {
    EXPECT_THAT(check_device_flag(name, 2), StatusIs(absl::StatusCode::kUnimplemented));
  }
}

#ifndef USE_C10D_NCCL
TEST(CudaDevicesTest, AreUnknownToAProgramForTheCpu) { EXPECT_EQ(cuda_devices(), std::nullopt); }
#endif

}  // namespace
}  // namespace millrace
