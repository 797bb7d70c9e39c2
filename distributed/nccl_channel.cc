// The only file that depends on NCCL; compiled only with --config=cuda.
#include <c10/cuda/CUDAFunctions.h>

#include <atomic>
#include <cstdlib>
#include <list>
#include <memory>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "distributed/device_channel.h"

namespace millrace {
namespace {

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroupNCCL>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// By default the library's threads end the process after a time-out, an error of another rank or a
// wait of some minutes. Instead the supervisor aborts the group and names the rank. torchrun sets
// the first of these variables for its workers.
void leave_errors_to_supervisor() {
  for (const char* const name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT",
                                 "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT",
                                 "TORCH_NCCL_PROPAGATE_ERROR"}) {
    setenv(name, "0", /*overwrite=*/1);
  }
}

absl::Status aborted_error() { return absl::AbortedError("the sums of NCCL were aborted"); }

// Work on the device, shared by copies of the object.
struct Running {
  WorkPointer work;
  at::Tensor tensor;                                 // the library's kernels write to it
  std::shared_ptr<const std::atomic<bool>> aborted;  // the channel's, which may be destroyed before

  absl::StatusOr<bool> ended() const {
    return catch_exceptions([&]() -> absl::StatusOr<bool> {
      if (!work->isCompleted()) return false;
      if (const std::exception_ptr error = work->exception()) std::rethrow_exception(error);
      // An abort ends kernels without an exception and leaves a partial sum.
      if (*aborted) return aborted_error();
      work->synchronize();  // orders the current stream; does not block the host
      return true;
    });
  }
};

class NcclSum : public DeviceSum {
 public:
  explicit NcclSum(Running running) : running_(std::move(running)) {}
  absl::StatusOr<bool> ended() override { return running_.ended(); }

 private:
  const Running running_;
};

class NcclChannel : public DeviceChannel {
 public:
  explicit NcclChannel(GroupPointer group) : group_(std::move(group)) {}
  ~NcclChannel() override {
    forget_ended();
    if (!under_way_.empty()) abort();
    if (*aborted_) return;
    catch_exceptions([&] {
      group_->shutdown();
      return absl::OkStatus();
    }).IgnoreError();
  }

  absl::StatusOr<std::unique_ptr<DeviceSum>> start_sum(at::Tensor tensor) override {
    if (*aborted_) return aborted_error();
    forget_ended();
    return catch_exceptions([&]() -> absl::StatusOr<std::unique_ptr<DeviceSum>> {
      std::vector<at::Tensor> tensors = {tensor};
      under_way_.push_back(
          {group_->allreduce(tensors, c10d::AllreduceOptions()), tensor, aborted_});
      return std::make_unique<NcclSum>(under_way_.back());
    });
  }

  void abort() override {
    if (aborted_->exchange(true)) return;
    const absl::Status aborted = catch_exceptions([&] {
      group_->abort();
      return absl::OkStatus();
    });
    if (!aborted.ok()) {
      MILLRACE_LOG(WARNING) << "NCCL could not end sums under way: " << aborted.message();
    }
  }

 private:
  // Forgets ended sums. A sum without a wait needs its tensor until the end.
  void forget_ended() {
    under_way_.remove_if([](const Running& running) {
      const absl::StatusOr<bool> ended = running.ended();
      return !ended.ok() || *ended;
    });
  }

  const GroupPointer group_;
  // Set before the group is aborted. Shared with sums, which may outlive the channel.
  const std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
  std::list<Running> under_way_;
};

absl::StatusOr<std::unique_ptr<DeviceChannel>> connect(const DeviceChannelOptions& options) {
  const int devices = c10::cuda::device_count();
  if (options.cuda_device >= devices) {
    return absl::FailedPreconditionError(absl::StrCat("rank ", options.rank,
                                                      " has no device cuda:", options.cuda_device,
                                                      "; this machine shows ", devices));
  }
  leave_errors_to_supervisor();
  const auto device = static_cast<c10::DeviceIndex>(options.cuda_device);
  c10::cuda::set_device(device);
  auto group_options = c10d::ProcessGroupNCCL::Options::create();
  group_options->timeout = options.library_timeout;
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>(options.prefix, options.store), options.rank,
      options.world_size, group_options);
  // Connects here and not in the first sum, where a rank that dies would leave the others waiting
  // inside the library.
  group->eagerConnectSingleDevice(at::Device(at::kCUDA, device));
  return std::make_unique<NcclChannel>(std::move(group));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceChannel>> connect_device_channel(
    const DeviceChannelOptions& options) {
  return catch_exceptions([&] { return connect(options); });
}

}  // namespace millrace
