#include "distributed/device_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/status_matchers.h"
#include "distributed/mesh/memory_job_store_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A device whose answers the test sets.
class FakeSum : public DeviceSum {
 public:
  struct Device {
    std::atomic<int> questions{0};
    std::atomic<bool> ended{false};
    std::atomic<bool> aborted{false};
  };
  explicit FakeSum(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  absl::StatusOr<bool> ended() override {
    ++device_->questions;
    if (device_->aborted) return absl::InternalError("NCCL communicator was aborted\nC++ stack");
    return device_->ended.load();
  }

 private:
  const std::shared_ptr<Device> device_;  // shared with the test, which simulates the device
};

// Rank 0 of 1, so that no other rank is checked.
class DeviceCollectiveTest : public testing::Test {
 protected:
  void SetUp() override {
    SupervisorOptions options;
    options.timeout = absl::Seconds(1);
    options.connection_lost = [](int) { return false; };
    options.failed = [device = device_] { device->aborted = true; };
    supervisor_ = std::make_unique<Supervisor>(store_, options);
  }

  DeviceCollective start() {
    SupervisedWait wait;
    wait.channel = Channel::kData;
    wait.what = "a sum";
    wait.ordinal = supervisor_->count_started(wait.channel);
    return DeviceCollective(*supervisor_, std::make_unique<FakeSum>(device_), wait);
  }
  void await_questions(int count) const {
    while (device_->questions < count) std::this_thread::yield();
  }

  MemoryJobStore store_;
  const std::shared_ptr<FakeSum::Device> device_ = std::make_shared<FakeSum::Device>();
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(DeviceCollectiveTest, EndsOnceTheDeviceHas) {
  DeviceCollective collective = start();
  std::thread device([&] {
    await_questions(3);
    device_->ended = true;
  });
  EXPECT_OK(collective.wait());
  device.join();
  const int questions = device_->questions;
  EXPECT_OK(collective.wait());
  EXPECT_EQ(device_->questions, questions);
}

TEST_F(DeviceCollectiveTest, ErrorOfTheLibraryIsExplained) {
  device_->aborted = true;
  DeviceCollective collective = start();
  const absl::Status error = collective.wait();
  EXPECT_THAT(error,
              StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr("NCCL communicator was aborted"),
                                                         Not(HasSubstr("C++ stack")))));
  EXPECT_EQ(collective.wait(), error);
}

// The failure aborts the sum. Of the two errors only the first is the reason.
TEST_F(DeviceCollectiveTest, FailureOfTheJobIsTheReason) {
  DeviceCollective collective = start();
  std::thread other([&] {
    await_questions(1);
    supervisor_->fail("told by a thread").IgnoreError();
  });
  EXPECT_THAT(collective.wait(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("told by a thread"), Not(HasSubstr("NCCL")))));
  other.join();
  EXPECT_THAT(start().wait(), StatusIs(absl::StatusCode::kAborted, HasSubstr("told by a thread")));
}

TEST_F(DeviceCollectiveTest, ThatNeverEndsTimesOut) {
  EXPECT_THAT(start().wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a sum did not end within 1s")));
  EXPECT_TRUE(device_->aborted);
}

}  // namespace
}  // namespace millrace
