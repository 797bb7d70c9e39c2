// Tests of the channel alone, with one rank, so a single device suffices.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "base/status_matchers.h"
#include "distributed/device_channel.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

DeviceChannelOptions options_of(int device) {
  DeviceChannelOptions options;
  options.cuda_device = device;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.prefix = "nccl";
  return options;
}

absl::Status await(DeviceSum& sum) {
  for (;;) {
    const absl::StatusOr<bool> ended = sum.ended();
    if (!ended.ok()) return ended.status();
    if (*ended) return absl::OkStatus();
    std::this_thread::yield();
  }
}

class NcclChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (c10::cuda::device_count() == 0) {
      GTEST_SKIP() << skip_hardware("CUDA device", "the driver shows none");
    }
    absl::StatusOr<std::unique_ptr<DeviceChannel>> channel = connect_device_channel(options_of(0));
    ASSERT_OK(channel.status());
    channel_ = *std::move(channel);
  }
  static at::Tensor numbers() { return at::arange(1000, at::device(at::kCUDA).dtype(at::kFloat)); }

  std::unique_ptr<DeviceChannel> channel_;
};

TEST_F(NcclChannelTest, SumsOfOneRankAreItsOwn) {
  for (int i = 0; i < 10; ++i) {
    const at::Tensor tensor = numbers();
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeviceSum> sum, channel_->start_sum(tensor));
    EXPECT_OK(await(*sum));
    EXPECT_TRUE(at::equal(tensor, numbers()));
  }
}

TEST_F(NcclChannelTest, LeavesWithoutWaiting) {
  for (int i = 0; i < 3; ++i) EXPECT_OK(channel_->start_sum(numbers()).status());
  channel_.reset();
}

TEST_F(NcclChannelTest, StartsNothingAfterAbort) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeviceSum> sum, channel_->start_sum(numbers()));
  channel_->abort();
  channel_->abort();
  EXPECT_THAT(await(*sum), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(channel_->start_sum(numbers()).status(), StatusIs(absl::StatusCode::kAborted));
}

TEST(NcclChannelWithoutDeviceTest, SaysSo) {
  EXPECT_THAT(connect_device_channel(options_of(1000)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace millrace
