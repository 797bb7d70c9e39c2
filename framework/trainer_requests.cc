// How a trainer serves what hooks ask for.
#include <torch/nn/module.h>

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/model.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"

namespace millrace {
namespace {

// The requests but for evaluations of some of `all` sets.
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

// Whether a run that a rank's stop ends leaves this to the one that goes on.
bool for_who_goes_on(const Request& request) {
  return request.kind == Request::kEvaluate || request.kind == Request::kReload;
}

}  // namespace

// `marks`: whether cadences count from here also if nothing was served.
absl::Status Trainer::serve_common(bool marks) {
  // Twice: what results of the evaluations made hooks ask for, such as to stop, does not wait for
  // another step.
  for (int round = 0; round < 2; ++round) {
    const RequestSet common = context_->requests().take_common();
    agreement_->served(common);
    RETURN_IF_ERROR(serve(common, Scope::kCommon));
  }
  if (marks) context_->mark_served();
  return absl::OkStatus();
}

// `ending`: no step follows.
absl::Status Trainer::serve_agreed(bool ending) {
  ASSIGN_OR_RETURN(RequestSet agreed, agreement_->requests());
  if (stopped_ && summary_.stopped_by_rank) {
    // A rank's stop came before, so this is for who goes on.
    put_aside(agreed, ending ? due_later_ : due_now_);
    RequestSet left;
    for (const Request& request : agreed.asked) {
      if (!for_who_goes_on(request)) left.add(request);
    }
    agreed = std::move(left);
  }
  return serve(agreed, Scope::kThisRank);
}

// Of what single ranks asked for, this rank's own part.
void Trainer::put_aside(const RequestSet& requests, RequestSet& aside) {
  for (const Request& request : requests.asked) {
    if (request.rank == context_->rank() && for_who_goes_on(request)) aside.add(request);
  }
}

// With the next exchange.
void Trainer::ask_for_later() {
  context_->requests().ask_again(std::exchange(due_later_, {}), Scope::kThisRank);
}

absl::Status Trainer::serve(const RequestSet& requests, Scope scope) {
  if (requests.empty()) return absl::OkStatus();
  served_any_ = true;
  const bool boundary = std::exchange(at_boundary_, false);
  const Scope outer = std::exchange(serving_scope_, scope);
  const absl::Status status = serve_each(requests, scope);
  serving_scope_ = outer;
  RETURN_IF_ERROR(status);
  at_boundary_ = boundary;
  return absl::OkStatus();
}

absl::Status Trainer::serve_each(const RequestSet& requests, Scope scope) {
  for (const Request& request : requests.asked) record(LoopEvent::kRequested, request, scope);
  context_->mark_served();
  RequestSet left = stopped_by_rank(scope) ? requests : RequestSet();
  if (left.empty()) {
    absl::StatusOr<RequestSet> rest = evaluate_sets(requests, scope, /*only_new=*/false);
    if (!rest.ok()) keep_unserved(requests, scope);
    RETURN_IF_ERROR(rest.status());
    left = *std::move(rest);
  }
  if (!left.empty()) {
    // A rank asked to stop, so this is for who goes on. A checkpoint of here and now does no harm.
    for (const Request& request : left.asked) {
      if (scope == Scope::kCommon || for_who_goes_on(request)) restored_requests_.add(request);
    }
    const bool asked = std::exchange(interrupted_save_, false);
    return (requests.checkpoint || asked) && !ends_here() ? save(RequestSet(), Scope::kCommon)
                                                          : absl::OkStatus();
  }
  if (requests.checkpoint && !ends_here()) RETURN_IF_ERROR(save(requests, scope));
  if (requests.reload) {
    RETURN_IF_ERROR(reload());
    record_served(Request::kReload, requests, scope);
  }
  stop(requests, scope);
  return absl::OkStatus();
}

// Whether the checkpoint at the end follows at once, with nothing before it that may fail: it is
// the one that falls due here.
bool Trainer::ends_here() const {
  const bool will_save =
      options_.save_at_end && parts_.saver != nullptr && summary_.steps_begun > 0;
  const bool reports = options_.report.at_end && reporter_->steps() > 0;
  return will_save && training_is_over() && !reports && !context_->requests().any_at_end();
}

// Whether a rank's own stop came before what all ranks ask for: without it that would have been
// served, then or where training goes on.
bool Trainer::stopped_by_rank(Scope scope) const {
  return stopped_ && summary_.stopped_by_rank && scope == Scope::kCommon;
}

void Trainer::record_served(Request::Kind kind, const RequestSet& requests, Scope scope) {
  for (const Request& request : requests.asked) {
    if (request.kind == kind) record(LoopEvent::kServed, request, scope);
  }
}

void Trainer::stop(const RequestSet& requests, Scope scope) {
  if (!requests.stop || stopped_) return;
  stopped_ = true;
  summary_.stop_reason = requests.stop_reason;
  summary_.stopped_by_rank = scope == Scope::kThisRank;
  for (const Request& request : requests.asked) {
    if (request.kind != Request::kStop) continue;
    MILLRACE_LOG(INFO) << "stopping: " << request.detail << " (asked by hook " << request.hook
                       << (context_->world_size() > 1 && summary_.stopped_by_rank
                               ? absl::StrCat(" of rank ", request.rank)
                               : "")
                       << ")";
    record(LoopEvent::kServed, request, scope);
    return;  // the first reason wins
  }
}

// Returns: what of the requests is left, of all kinds, if a rank asked to stop meanwhile.
absl::StatusOr<RequestSet> Trainer::evaluate_sets(const RequestSet& requests, Scope scope,
                                                  bool only_new) {
  std::vector<EvaluationSet*> sets;
  for (const std::string& name : requests.evaluate) {
    ASSIGN_OR_RETURN(EvaluationSet * set, find_set(name));
    if (!requests.evaluate_all) sets.push_back(set);
  }
  if (requests.evaluate_all) {
    for (EvaluationSet& set : parts_.evaluation_sets) sets.push_back(&set);
  }
  std::set<std::string> done;
  for (EvaluationSet* set : sets) {
    const auto last = last_evaluated_step_.find(set->name);
    if (only_new && last != last_evaluated_step_.end() && last->second == position_.progress.step)
      continue;
    RETURN_IF_ERROR(save_before_evaluation(requests, scope, /*at_end=*/only_new));
    ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                     evaluate_inside(*set->data, named(set->name)));
    if (!result.has_value()) return without_sets(requests, done, names_of(parts_.evaluation_sets));
    done.insert(set->name);
    last_evaluated_step_[set->name] = position_.progress.step;
    for (Request request : requests.asked) {
      if (request.kind != Request::kEvaluate) continue;
      if (!request.detail.empty() && request.detail != set->name) continue;
      request.detail = set->name;
      record(LoopEvent::kServed, request, scope);
      break;
    }
    RETURN_IF_ERROR(hooks_->after_evaluate(*context_, *result));
  }
  return RequestSet();
}

}  // namespace millrace
