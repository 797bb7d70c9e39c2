// A sum on a device, with a supervised wait.
#ifndef MILLRACE_DISTRIBUTED_DEVICE_COLLECTIVE_H_
#define MILLRACE_DISTRIBUTED_DEVICE_COLLECTIVE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "distributed/device_channel.h"
#include "distributed/supervised_collective.h"
#include "distributed/supervisor.h"

namespace millrace {

// Waits by polling the device, so that the death of a rank, or an endless sum, becomes an error
// with the name of a rank. Used by one thread.
class DeviceCollective : public CollectiveAwaitedOnce {
 public:
  // `supervisor` must outlive this object.
  DeviceCollective(Supervisor& supervisor, std::unique_ptr<DeviceSum> sum, SupervisedWait wait)
      : supervisor_(supervisor), sum_(std::move(sum)), wait_(wait) {}

 private:
  absl::Status supervise() override;

  Supervisor& supervisor_;
  const std::unique_ptr<DeviceSum> sum_;
  SupervisedWait wait_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_DEVICE_COLLECTIVE_H_
