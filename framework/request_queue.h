// Requests from the moment a hook makes them until they are served or saved.
#ifndef MILLRACE_FRAMEWORK_REQUEST_QUEUE_H_
#define MILLRACE_FRAMEWORK_REQUEST_QUEUE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/requests.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// Requests that a run ended before serving: the run that resumes makes them again.
struct DeferredRequests {
  RequestSet common;  // of all ranks
  // Of this rank alone. The resuming run makes the first with its first exchange, the others when
  // the step after it begins.
  RequestSet due_now, due_later;
};

// The moment at which a checkpoint is made within a run, as far as requests go.
struct SavePoint {
  RequestSet served;             // the requests whose serving makes the checkpoint; empty: none
  RequestSet evaluations;        // of them, evaluations that are still to run and may fail
  Scope scope = Scope::kCommon;  // of `served`
  RequestSet carried;            // Agreement::carried()
  // Reason of a stop by all ranks that the resuming run must make again.
  std::optional<std::string> stop_reason;
};

// The trainer's side of Requests. Pending requests come from hooks and are taken to be served;
// deferred ones go into checkpoints. Used on the trainer's thread; one for each trainer.
class RequestQueue : public Requests {
 public:
  explicit RequestQueue(int rank = 0, int world_size = 1) : rank_(rank), world_size_(world_size) {}

  // Drops pending requests and callbacks of the run before.
  void begin_run();
  // Makes deferred requests pending. `within_pass`: LoopPosition::within_pass().
  void resume(bool within_pass);
  // Makes those pending that were deferred as due later: the next exchange carries them.
  void resume_due_later();

  // Sets the hook whose event runs: its requests carry this name. Borrowed until the next call.
  void set_caller(absl::string_view hook) { caller_ = hook; }
  // Calls the callbacks of before_exchange. Errors: Internal naming the hook whose callback threw.
  absl::Status look();
  // Drops the callbacks of a hook.
  void forget_looks(absl::string_view hook);

  const RequestSet& common() const { return common_; }
  const RequestSet& this_rank() const { return this_rank_; }
  // Returns what is pending and leaves nothing.
  RequestSet take_common() { return std::exchange(common_, {}); }
  RequestSet take_this_rank() { return std::exchange(this_rank_, {}); }
  RequestSet take_at_end() { return std::exchange(at_end_, {}); }
  bool any_at_end() const { return !at_end_.empty(); }

  // Whether the resuming run makes deferred requests of this rank at once or one step later.
  enum class Due { kNow, kLater };
  // Defers evaluations and reloads that this rank asked for. Ignores other kinds, and requests of
  // other ranks, which defer theirs.
  void defer_own(const RequestSet& requests, Due due);
  // Defers what a stop of one rank prevented: all common requests; evaluations and reloads of
  // single ranks, on all ranks.
  void defer_stopped(const RequestSet& requests, Scope scope);
  // Defers requests whose evaluation failed: all but checkpoints, or if the scope is kThisRank,
  // what defer_own() does.
  void defer_failed(const RequestSet& requests, Scope scope);

  // Writes deferred requests and, within a run, what is pending at `point`. Null: between runs.
  void save(const SavePoint* point, SharedState* shared, RankState* own) const;
  // Reads them back. `ranks`: the states of all ranks that wrote. If their number differs from
  // today's, rank 0 gets the requests of all. Errors: DataLoss for a damaged request.
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

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REQUEST_QUEUE_H_
