// The conformance suite with NCCL as data channel. Each rank needs a separate device, since NCCL
// refuses two ranks on one device.
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/catch_exceptions.h"
#include "base/status_matchers.h"
#include "distributed/c10d_collectives.h"
#include "distributed/collectives_conformance.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

C10dOptions options_for(const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "job", .version = "1", .config = "a: 1\n"};
  options.rendezvous_timeout = absl::Seconds(60);
  options.collective_timeout = absl::Seconds(20);
  options.cuda_device = environment.local_rank;
  return options;
}

// Copies the result back to the tensor on the host.
class CopiedBack : public PendingCollective {
 public:
  CopiedBack(std::unique_ptr<PendingCollective> sum, at::Tensor device, at::Tensor host)
      : sum_(std::move(sum)), device_(std::move(device)), host_(std::move(host)) {}
  absl::Status wait() override {
    const absl::Status status = sum_->wait();
    if (!status.ok() || copied_) return status;
    copied_ = true;
    return catch_exceptions([&] {
      host_.copy_(device_);
      return absl::OkStatus();
    });
  }

 private:
  const std::unique_ptr<PendingCollective> sum_;
  const at::Tensor device_;
  at::Tensor host_;
  bool copied_ = false;
};

// Sums the suite's host tensors on the rank's device.
class SumsOnDevice : public ForwardedCollectives {
 public:
  SumsOnDevice(std::unique_ptr<Collectives> others, int device)
      : ForwardedCollectives(std::shared_ptr<Collectives>(std::move(others))),
        device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)) {}

  using ForwardedCollectives::start_sum;
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    const at::Tensor copy = tensor.to(device_);
    return std::make_unique<CopiedBack>(others().start_sum(copy), copy, std::move(tensor));
  }

 private:
  const at::Device device_;
};

// Counts the devices in a rank: a process that has used CUDA cannot fork ranks that use CUDA.
bool has_devices(int count) {
  ProcessRanks ranks(1, [&](const RankEnvironment&, const ChildLink&) {
    return c10::cuda::device_count() >= count ? absl::OkStatus() : absl::NotFoundError("too few");
  });
  return ranks.wait(0).ok();
}

RunRanks processes(int world_size) {
  return [world_size](const RankBody& body) {
    ProcessRanks ranks(world_size, [&](const RankEnvironment& environment, const ChildLink&) {
      auto collectives = connect_c10d(options_for(environment));
      if (!collectives.ok()) return collectives.status();
      return body(std::make_unique<SumsOnDevice>(*std::move(collectives), environment.local_rank));
    });
    std::vector<absl::Status> results;
    for (int rank = 0; rank < world_size; ++rank) results.push_back(ranks.wait(rank));
    return results;
  };
}

TEST(NcclConformanceTest, Of2) {
  if (!has_devices(2)) GTEST_SKIP() << skip_hardware("two CUDA devices", "the driver shows fewer");
  test_collectives_conformance(2, processes(2));
}

TEST(NcclConformanceTest, Of4) {
  if (!has_devices(4)) GTEST_SKIP() << skip_hardware("four CUDA devices", "the driver shows fewer");
  test_collectives_conformance(4, processes(4));
}

TEST(NcclConformanceTest, MissingDeviceIsNamed) {
  ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink&) {
    C10dOptions options = options_for(environment);
    options.cuda_device = 1000 + environment.rank;
    return connect_c10d(options).status();
  });
  for (const int rank : {0, 1}) {
    const absl::Status status = ranks.wait(rank);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_NE(status.message().find("no device cuda:100"), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace millrace
