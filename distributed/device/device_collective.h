// A sum on a device, waited for under supervision.
#ifndef MILLRACE_DISTRIBUTED_DEVICE_DEVICE_COLLECTIVE_H_
#define MILLRACE_DISTRIBUTED_DEVICE_DEVICE_COLLECTIVE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "distributed/device/device_channel.h"
#include "distributed/supervised_collective.h"
#include "distributed/supervisor.h"

namespace millrace {

// Waits by asking the device again and again, so that a rank that died, or a sum that never ends,
// becomes an error that names a rank. For one thread.
class DeviceCollective : public CollectiveAwaitedOnce {
 public:
  // `supervisor` must outlive it.
  DeviceCollective(Supervisor& supervisor, std::unique_ptr<DeviceSum> sum, SupervisedWait wait)
      : supervisor_(supervisor), sum_(std::move(sum)), wait_(wait) {}

 private:
  absl::Status supervise() override;

  Supervisor& supervisor_;
  const std::unique_ptr<DeviceSum> sum_;
  SupervisedWait wait_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_DEVICE_DEVICE_COLLECTIVE_H_
