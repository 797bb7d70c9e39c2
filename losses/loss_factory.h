// Losses by their configuration.
#ifndef MILLRACE_LOSSES_LOSS_FACTORY_H_
#define MILLRACE_LOSSES_LOSS_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "losses/loss.h"
#include "proto/config.pb.h"

namespace millrace {

// Creates the loss of a task, by default binary cross entropy. Errors: as check_loss(), naming the
// label.
absl::StatusOr<std::unique_ptr<Loss>> create_loss(const TaskConfig& task);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_FACTORY_H_
