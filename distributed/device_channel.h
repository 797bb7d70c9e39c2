// The part of the data channel that sums tensors of a device.
#ifndef MILLRACE_DISTRIBUTED_DEVICE_CHANNEL_H_
#define MILLRACE_DISTRIBUTED_DEVICE_CHANNEL_H_

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace c10d {
class Store;
}

namespace millrace {

// A sum that a device computes.
class DeviceSum {
 public:
  // Does not end the sum, which continues; the channel keeps the tensor.
  virtual ~DeviceSum() = default;
  // Returns true once the result is in place. The current stream of the caller is ordered after the
  // sum. Does not block.
  // Errors: the library's, with its text; Aborted after DeviceChannel::abort(), also for a sum that
  // had ended before but whose end ended() had not reported.
  virtual absl::StatusOr<bool> ended() = 0;
};

// Connections of one rank to all others for tensors of its device. Destroying the channel ends sums
// under way with an error on all ranks.
//
// Called by one thread; abort() by any.
class DeviceChannel {
 public:
  virtual ~DeviceChannel() = default;
  // Starts the element-wise sum over ranks, in place, after the work on the current stream of the
  // tensor's device.
  // Errors: the library's.
  // REQUIRES: as Collectives::start_sum(), and the device of DeviceChannelOptions.
  virtual absl::StatusOr<std::unique_ptr<DeviceSum>> start_sum(at::Tensor tensor) = 0;
  // Ends sums under way with an error. Later start_sum() returns Aborted.
  virtual void abort() = 0;
};

struct DeviceChannelOptions {
  int rank = 0;
  int world_size = 1;
  int cuda_device = 0;
  // The store with the ranks' addresses. Shared with the library, which uses the store until the
  // channel is destroyed.
  c10::intrusive_ptr<c10d::Store> store;
  std::string prefix;  // of keys in the store
  // The library's time-out for a sum. Only the supervisor may decide that a sum takes too long: the
  // library would end the process and name no rank.
  std::chrono::milliseconds library_timeout = std::chrono::hours(24);
};

// Connects this rank to all others. All ranks call this function at the same time. With
// --config=cuda the channel is NCCL (nccl_channel.cc); otherwise no channel exists
// (no_device_channel.cc).
// Errors: Unimplemented in a program that is built for the CPU, FailedPrecondition if the device is
// missing, and the library's.
absl::StatusOr<std::unique_ptr<DeviceChannel>> connect_device_channel(
    const DeviceChannelOptions& options);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_DEVICE_CHANNEL_H_
