#include "framework/request_state.h"

#include "absl/strings/str_cat.h"

namespace millrace {

PendingRequest to_state(const Request& request) {
  PendingRequest state;
  state.set_kind(request.kind);
  state.set_detail(request.detail);
  state.set_hook(request.hook);
  return state;
}

absl::StatusOr<Request> from_state(const PendingRequest& state, int rank) {
  if (state.kind() < Request::kEvaluate || state.kind() > Request::kStop) {
    return absl::DataLossError(
        absl::StrCat("a pending request is damaged: its kind is ", state.kind()));
  }
  return Request{static_cast<Request::Kind>(state.kind()), state.detail(), state.hook(), rank};
}

}  // namespace millrace
