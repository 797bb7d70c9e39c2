// The requests of hooks.
#ifndef MILLRACE_HOOK_REQUEST_QUEUE_H_
#define MILLRACE_HOOK_REQUEST_QUEUE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hook/requests.h"
#include "proto/checkpoint_state.pb.h"
#include "proto/pending_request.pb.h"

namespace millrace {

// Requests not served before a run ended. The resuming run repeats them.
struct DeferredRequests {
  RequestSet common;  // of all ranks
  // Requests of this rank alone. The resuming run makes `due_now` with its first exchange, and
  // `due_later` when the step after that exchange begins.
  RequestSet due_now, due_later;
};

// The moment of a checkpoint within a run, with the requests concerned.
struct SavePoint {
  RequestSet served;             // requests whose serving makes the checkpoint; empty: none
  RequestSet evaluations;        // of these, evaluations that have yet to run and may fail
  Scope scope = Scope::kCommon;  // of `served`
  RequestSet carried;            // Agreement::carried()
  // Reason of a stop by all ranks that the resuming run must make again.
  std::optional<std::string> stop_reason;
};

// The trainer's view of Requests. Hooks add pending requests, and the trainer takes and serves
// them. Checkpoints include deferred requests. Used on the trainer's thread; one for each trainer.
class RequestQueue : public Requests {
 public:
  explicit RequestQueue(int rank = 0, int world_size = 1) : rank_(rank), world_size_(world_size) {}

  // Drops pending requests and callbacks of the previous run.
  void begin_run();
  // Makes deferred requests pending. `within_pass`: LoopPosition::within_pass().
  void resume(bool within_pass);
  // Makes requests deferred with Due::kLater pending, for the next exchange.
  void resume_due_later();

  // Sets the hook whose event runs, which names the requests. Borrowed until the next call.
  void set_caller(absl::string_view hook) { caller_ = hook; }
  // Calls the callbacks of before_exchange. Errors: Internal naming the hook whose callback threw.
  absl::Status run_callbacks();
  // Drops the callbacks of a hook.
  void remove_callbacks(absl::string_view hook);

  const RequestSet& common() const { return common_; }
  const RequestSet& this_rank() const { return this_rank_; }
  // Each returns the pending requests of its kind and clears them.
  RequestSet take_common() { return std::exchange(common_, {}); }
  RequestSet take_this_rank() { return std::exchange(this_rank_, {}); }
  RequestSet take_at_end() { return std::exchange(at_end_, {}); }
  bool any_at_end() const { return !at_end_.empty(); }

  // Time at which the resuming run makes deferred requests of this rank: at once or one step later.
  enum class Due { kNow, kLater };
  // Defers evaluations and reloads requested by this rank. Ignores other kinds, and requests of
  // other ranks, which defer their own.
  void defer_own(const RequestSet& requests, Due due);
  // Defers requests that a stop of one rank prevented: common requests of all kinds; requests of
  // single ranks for evaluations and reloads, on all ranks.
  void defer_stopped(const RequestSet& requests, Scope scope);
  // Defers requests whose evaluation failed: with scope kCommon all but checkpoints, with scope
  // kThisRank the same as defer_own().
  void defer_failed(const RequestSet& requests, Scope scope);

  // Writes deferred requests and, within a run, the requests pending at `point`. Null: between
  // runs.
  void save(const SavePoint* point, SharedState* shared, RankState* own) const;
  // Reads the deferred requests of a checkpoint. `ranks`: the states of all ranks in the
  // checkpoint. If their number differs from the current world size, rank 0 gets the requests of
  // all ranks. Errors: DataLoss for a damaged request.
  absl::StatusOr<DeferredRequests> load(const SharedState& shared,
                                        absl::Span<const RankState> ranks) const;
  // Replaces the deferred requests.
  void restore(DeferredRequests deferred) { deferred_ = std::move(deferred); }

 private:
  RequestSet own_deferrable(const RequestSet& requests) const;
  void add_failed(const RequestSet& requests, Scope scope, DeferredRequests* deferred) const;

  const int rank_;
  const int world_size_;
  DeferredRequests deferred_;
};

// Returns a request without its rank.
PendingRequest to_state(const Request& request);

// Returns the request of `rank` from which to_state() made `state`. Errors: DataLoss for a kind
// that does not exist.
absl::StatusOr<Request> from_state(const PendingRequest& state, int rank);

}  // namespace millrace

#endif  // MILLRACE_HOOK_REQUEST_QUEUE_H_
