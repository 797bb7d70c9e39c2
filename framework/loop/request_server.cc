#include "framework/loop/request_server.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Cause of a checkpoint without a request.
constexpr char kOfTheBestScore[] = "of the best score";

// Returns the requests except evaluations of the sets in `done`. `all`: the names of all sets.
RequestSet without_sets(const RequestSet& requests, const std::set<std::string>& done,
                        const std::vector<std::string>& all) {
  RequestSet left;
  for (Request request : requests.asked) {
    if (request.kind != Request::kEvaluate) {
      left.add(request);
      continue;
    }
    const std::string one = request.detail;
    for (const std::string& set : all) {
      if ((!one.empty() && one != set) || done.count(set) > 0) continue;
      request.detail = set;
      left.add(request);
    }
  }
  return left;
}

}  // namespace

void RequestServer::begin_run() {
  parts_.loop.stop = StopState();
  checkpoint_interrupted_ = false;
  unsaved_best_ = -1;
}

absl::StatusOr<bool> RequestServer::serve_common(bool marks) {
  bool any = false;
  // Two rounds: a request that follows from the results of evaluations, such as a stop, does not
  // wait for another step.
  for (int round = 0; round < 2; ++round) {
    const RequestSet common = parts_.requests.take_common();
    any |= !common.empty();
    parts_.agreement.served(common);
    RETURN_IF_ERROR(serve(common, Scope::kCommon));
  }
  // Saves the best score of an evaluation without a request, such as the evaluation of a window.
  if (saves_best(RequestSet())) {
    RETURN_IF_ERROR(parts_.loop.consistency.suspend(
        [&] { return save(RequestSet(), Scope::kCommon, kOfTheBestScore); }));
  }
  if (marks) parts_.context.mark_served();
  return any;
}

absl::StatusOr<bool> RequestServer::serve_agreed(bool ending) {
  ASSIGN_OR_RETURN(RequestSet agreed, parts_.agreement.requests());
  if (parts_.loop.stop.stopped && parts_.loop.stop.by_rank) {
    // The resuming run serves these requests, because the stop of a rank precedes them.
    using Due = RequestQueue::Due;
    parts_.requests.defer_own(agreed, ending ? Due::kLater : Due::kNow);
    agreed = agreed.of_kinds({Request::kCheckpoint, Request::kStop});
  }
  RETURN_IF_ERROR(serve(agreed, Scope::kThisRank));
  return !agreed.empty();
}

absl::Status RequestServer::serve_at_end() {
  const RequestSet at_end = parts_.requests.take_at_end();
  parts_.agreement.served(at_end);
  parts_.recorder.requested(at_end, Scope::kCommon);
  // If the stop of a rank ends the evaluations, no requests are deferred: the resuming run makes
  // all of them at its end.
  return evaluate_sets(at_end, Scope::kCommon, /*at_end=*/true).status();
}

absl::Status RequestServer::serve(const RequestSet& requests, Scope scope) {
  if (requests.empty()) return absl::OkStatus();
  return parts_.loop.consistency.suspend([&] { return serve_each(requests, scope); });
}

absl::Status RequestServer::serve_each(const RequestSet& requests, Scope scope) {
  parts_.recorder.requested(requests, scope);
  parts_.context.mark_served();
  RequestSet left = stopped_by_rank(scope) ? requests : RequestSet();
  if (left.empty()) {
    absl::StatusOr<RequestSet> rest = evaluate_sets(requests, scope, /*at_end=*/false);
    if (!rest.ok()) parts_.requests.defer_failed(requests, scope);
    RETURN_IF_ERROR(rest.status());
    left = *std::move(rest);
  }
  if (!left.empty()) return defer_stopped(requests, left, scope);
  if (requests.has(Request::kCheckpoint) && !ends_here()) {
    RETURN_IF_ERROR(save(requests, scope));
  } else if (saves_best(requests)) {
    RETURN_IF_ERROR(save(requests, scope, kOfTheBestScore));
  }
  if (requests.has(Request::kReload)) {
    RETURN_IF_ERROR(parts_.checkpoints.reload());
    parts_.recorder.served(Request::kReload, requests, scope);
  }
  stop(requests, scope);
  return absl::OkStatus();
}

// Defers requests after the stop of a rank: `left` is for the resuming run. An additional
// checkpoint at this moment is harmless.
absl::Status RequestServer::defer_stopped(const RequestSet& requests, const RequestSet& left,
                                          Scope scope) {
  parts_.requests.defer_stopped(left, scope);
  const bool asked =
      std::exchange(checkpoint_interrupted_, false) || requests.has(Request::kCheckpoint);
  if (!asked || ends_here()) return absl::OkStatus();
  return save(RequestSet(), Scope::kCommon);
}

bool RequestServer::training_is_over() const {
  return parts_.loop.stop.stopped ||
         (limit_reached(parts_.loop.limits, parts_.loop.position.progress) &&
          !parts_.loop.position.data_ended && !parts_.loop.epoch_is_full());
}

// Returns true if the checkpoint at the end follows immediately, and nothing in between can fail.
// It then also serves a request for a checkpoint made here.
bool RequestServer::ends_here() const {
  const bool reports = options_.report_at_end && parts_.reporter.steps() > 0;
  return parts_.checkpoints.will_save_at_end() && training_is_over() && !reports &&
         !parts_.requests.any_at_end();
}

// Returns true if a rank's own stop preceded requests of all ranks. Without the stop, this run or
// the resuming run would have served these requests.
bool RequestServer::stopped_by_rank(Scope scope) const {
  return parts_.loop.stop.stopped && parts_.loop.stop.by_rank && scope == Scope::kCommon;
}

void RequestServer::stop(const RequestSet& requests, Scope scope) {
  const Request* first = requests.first(Request::kStop);
  if (first == nullptr || parts_.loop.stop.stopped) return;
  parts_.loop.stop = {true, scope == Scope::kThisRank, first->detail};
  MILLRACE_LOG(INFO) << "stopping: " << first->detail << " (asked by hook " << first->hook
                     << (parts_.context.world_size() > 1 && parts_.loop.stop.by_rank
                             ? absl::StrCat(" of rank ", first->rank)
                             : "")
                     << ")";
  parts_.recorder.served(*first, scope);
}

absl::StatusOr<std::optional<EvaluationResult>> RequestServer::evaluate(Dataset& data,
                                                                        EvaluationOptions options,
                                                                        Scope scope) {
  // Hooks write files in the first evaluation, so the output directory must be the run's.
  if (parts_.context.phase() == Phase::kTrain) RETURN_IF_ERROR(parts_.checkpoints.open());
  const bool predicts = options.consumer != nullptr;
  ASSIGN_OR_RETURN(Evaluated evaluated,
                   parts_.evaluations.run(data, std::move(options),
                                          /*state_is_whole=*/!parts_.checkpoints.save_failed()));
  if (evaluated.result.has_value() && !predicts) parts_.recorder.evaluated(*evaluated.result);
  // After a stop no further set is evaluated, and no checkpoint is made before the current requests
  // are deferred.
  checkpoint_interrupted_ |= evaluated.asked.has(Request::kCheckpoint);
  using Due = RequestQueue::Due;
  parts_.requests.defer_own(evaluated.asked.of_kinds({Request::kEvaluate}),
                            scope == Scope::kCommon ? Due::kNow : Due::kLater);
  RETURN_IF_ERROR(
      serve(evaluated.asked.of_kinds({Request::kReload, Request::kStop}), Scope::kThisRank));
  return std::move(evaluated.result);
}

// Returns true if the step has the best score and a checkpoint must be made for it here. The
// checkpoint at the end of the run covers it otherwise.
bool RequestServer::saves_best(const RequestSet& requests) const {
  return unsaved_best_ >= 0 && unsaved_best_ == parts_.loop.position.progress.step &&
         options_.save_best && parts_.checkpoints.has_saver() &&
         !precedes_end(requests, /*at_end=*/false);
}

absl::Status RequestServer::save(const RequestSet& requests, Scope scope,
                                 absl::string_view detail) {
  unsaved_best_ = -1;
  return parts_.checkpoints.save(requests, scope, /*evaluations=*/{}, detail);
}

absl::Status RequestServer::report_evaluation(const EvaluationResult& result) {
  if (parts_.evaluations.note(result.set)) unsaved_best_ = parts_.loop.position.progress.step;
  return parts_.hooks.after_evaluate(parts_.context, result);
}

// Returns true if the evaluations of `requests` are the last of this run, so that a checkpoint must
// precede them.
bool RequestServer::precedes_end(const RequestSet& requests, bool at_end) const {
  const bool last = at_end || training_is_over() || parts_.loop.position.stream_ended ||
                    requests.has(Request::kStop);
  return last && parts_.context.phase() == Phase::kTrain && parts_.checkpoints.will_save_at_end();
}

// Evaluates the requested sets. `at_end`: if true, omits sets already evaluated at this step.
// Returns the remaining requests, of all kinds, if a rank asked to stop during the evaluations.
absl::StatusOr<RequestSet> RequestServer::evaluate_sets(const RequestSet& requests, Scope scope,
                                                        bool at_end) {
  ASSIGN_OR_RETURN(const std::vector<EvaluationSet*> sets, parts_.evaluations.requested(requests));
  std::set<std::string> done;
  for (EvaluationSet* set : sets) {
    if (at_end && parts_.evaluations.is_current(set->name)) continue;
    if (precedes_end(requests, at_end)) {
      RETURN_IF_ERROR(parts_.checkpoints.save_before_evaluation(requests, scope, at_end));
    }
    ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                     evaluate(*set->data, options_of(*set), scope));
    if (!result.has_value()) return without_sets(requests, done, parts_.evaluations.names());
    done.insert(set->name);
    for (Request request : requests.asked) {
      if (request.kind != Request::kEvaluate) continue;
      if (!request.detail.empty() && request.detail != set->name) continue;
      request.detail = set->name;
      parts_.recorder.served(request, scope);
      break;
    }
    RETURN_IF_ERROR(report_evaluation(*result));
  }
  return RequestSet();
}

}  // namespace millrace
