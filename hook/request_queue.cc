#include "hook/request_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {

namespace {

using PendingRequests = google::protobuf::RepeatedPtrField<PendingRequest>;

// Returns the requests that a run stopped by one rank leaves to the resuming run.
RequestSet deferrable(const RequestSet& requests) {
  return requests.of_kinds({Request::kEvaluate, Request::kReload});
}

void append(const RequestSet& requests, PendingRequests* all) {
  for (const Request& request : requests.asked) *all->Add() = to_state(request);
}

absl::StatusOr<RequestSet> from_state(const PendingRequests& all, int rank) {
  RequestSet requests;
  for (const PendingRequest& pending : all) {
    ASSIGN_OR_RETURN(Request request, from_state(pending, rank));
    requests.add(std::move(request));
  }
  return requests;
}

}  // namespace

void RequestQueue::begin_run() {
  caller_ = "";
  callbacks_.clear();
  common_ = this_rank_ = at_end_ = RequestSet();
}

void RequestQueue::resume(bool within_pass) {
  common_.merge(std::exchange(deferred_.common, {}));
  this_rank_.merge(std::exchange(deferred_.due_now, {}));
  if (!within_pass) resume_due_later();
}

void RequestQueue::resume_due_later() { this_rank_.merge(std::exchange(deferred_.due_later, {})); }

absl::Status RequestQueue::run_callbacks() {
  absl::Status first;
  for (const auto& [hook, look] : callbacks_) {
    set_caller(hook);
    const absl::Status status = catch_exceptions([&look = look] {
      look();
      return absl::OkStatus();
    });
    first.Update(
        annotate(as_part_failure(status), absl::StrCat("hook ", hook, " before an exchange")));
  }
  set_caller("");
  return first;
}

void RequestQueue::remove_callbacks(absl::string_view hook) {
  callbacks_.erase(std::remove_if(callbacks_.begin(), callbacks_.end(),
                                  [&](const auto& entry) { return entry.first == hook; }),
                   callbacks_.end());
}

RequestSet RequestQueue::own_deferrable(const RequestSet& requests) const {
  RequestSet own;
  for (const Request& request : deferrable(requests).asked) {
    if (request.rank == rank_) own.add(request);
  }
  return own;
}

void RequestQueue::defer_own(const RequestSet& requests, Due due) {
  (due == Due::kNow ? deferred_.due_now : deferred_.due_later).merge(own_deferrable(requests));
}

void RequestQueue::defer_stopped(const RequestSet& requests, Scope scope) {
  deferred_.common.merge(scope == Scope::kCommon ? requests : deferrable(requests));
}

void RequestQueue::defer_failed(const RequestSet& requests, Scope scope) {
  add_failed(requests, scope, &deferred_);
}

void RequestQueue::add_failed(const RequestSet& requests, Scope scope,
                              DeferredRequests* deferred) const {
  if (scope == Scope::kThisRank) {
    deferred->due_now.merge(own_deferrable(requests));
    return;
  }
  deferred->common.merge(requests.of_kinds({Request::kEvaluate, Request::kReload, Request::kStop}));
}

void RequestQueue::save(const SavePoint* point, SharedState* shared, RankState* own) const {
  DeferredRequests deferred = deferred_;
  if (point != nullptr) add_failed(point->evaluations, point->scope, &deferred);
  append(deferred.common, shared->mutable_pending());
  if (point != nullptr) {
    // Evaluations of the current requests are done. The stop of one rank applies only to this run:
    // the resuming run must not repeat the stop.
    append(point->scope == Scope::kThisRank
               ? point->served.of_kinds({Request::kReload})
               : point->served.of_kinds({Request::kReload, Request::kStop}),
           shared->mutable_pending());
    append(common_.of_kinds({Request::kEvaluate, Request::kReload, Request::kStop}),
           shared->mutable_pending());
    if (point->stop_reason.has_value()) {
      RequestSet stop;
      stop.add({Request::kStop, *point->stop_reason, "", rank_});
      append(stop, shared->mutable_pending());
    }
    // After common requests, this step serves the requests carried by exchanges. With several ranks
    // the step also serves the current requests of hooks, carried by the exchange before the save.
    const bool served_next = point->scope == Scope::kCommon;
    const bool carried_next = served_next && world_size_ > 1;
    (served_next ? deferred.due_now : deferred.due_later).merge(point->carried);
    (carried_next ? deferred.due_now : deferred.due_later).merge(this_rank_);
  }
  // Omits stops, which apply only to this run, and checkpoints, which this save serves.
  append(deferrable(deferred.due_now), own->mutable_due_now());
  append(deferrable(deferred.due_later), own->mutable_due_later());
}

absl::StatusOr<DeferredRequests> RequestQueue::load(const SharedState& shared,
                                                    absl::Span<const RankState> ranks) const {
  DeferredRequests deferred;
  ASSIGN_OR_RETURN(deferred.common, from_state(shared.pending(), rank_));
  const bool same_world = static_cast<int>(ranks.size()) == world_size_;
  for (size_t from = 0; from < ranks.size(); ++from) {
    if (same_world ? static_cast<int>(from) != rank_ : rank_ != 0) continue;
    ASSIGN_OR_RETURN(const RequestSet now, from_state(ranks[from].due_now(), rank_));
    ASSIGN_OR_RETURN(const RequestSet later, from_state(ranks[from].due_later(), rank_));
    deferred.due_now.merge(now);
    deferred.due_later.merge(later);
  }
  return deferred;
}

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
