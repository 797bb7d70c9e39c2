// Requests in checkpoints and in messages between ranks.
#ifndef MILLRACE_FRAMEWORK_REQUEST_STATE_H_
#define MILLRACE_FRAMEWORK_REQUEST_STATE_H_

#include "absl/status/statusor.h"
#include "framework/requests.h"
#include "proto/pending_request.pb.h"

namespace millrace {

// Returns a request without its rank.
PendingRequest to_state(const Request& request);

// Returns the request of `rank` from which to_state() made `state`. Errors: DataLoss for a kind
// that does not exist.
absl::StatusOr<Request> from_state(const PendingRequest& state, int rank);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REQUEST_STATE_H_
