#include "framework/loop/loop_recorder.h"

#include <utility>

#include "absl/strings/str_join.h"

namespace millrace {

LoopRecorder::LoopRecorder(EventLog* log, const LoopState& loop, int rank, int world_size)
    : log_(log), loop_(loop), rank_(rank), world_size_(world_size) {}

void LoopRecorder::begin_run(absl::string_view what, absl::string_view checkpoint) {
  summary_ = Summary();
  what_ = std::string(what);
  began_ = loop_.position.progress;
  record(LoopEvent::kStarted, what, checkpoint, rank_);
}

void LoopRecorder::end_run(const absl::Status& outcome, int failed_rank, RunFigures figures) {
  const StopState& stop = loop_.stop;
  const Progress& progress = loop_.position.progress;
  summary_.outcome = !outcome.ok()  ? Outcome::kFailed
                     : stop.stopped ? Outcome::kStopped
                                    : Outcome::kCompleted;
  summary_.stop_reason = stop.reason;
  summary_.stopped_by_rank = stop.by_rank;
  summary_.error = std::string(outcome.message());
  summary_.progress = progress;
  summary_.examples_this_run = progress.examples - began_.examples;
  summary_.elapsed_this_run = progress.elapsed - began_.elapsed;
  summary_.world_size = world_size_;
  summary_.steps_begun = figures.steps_begun;
  summary_.bad_examples = figures.bad_examples;
  summary_.checkpoint = std::move(figures.checkpoint);
  summary_.best = figures.best;
  summary_.hooks = std::move(figures.hooks);
  summary_.rows = std::move(figures.rows);
  summary_.times = figures.times;
  const char* const word = !outcome.ok() ? "failed" : stop.stopped ? "stopped" : "completed";
  const absl::string_view detail =
      outcome.ok() ? absl::string_view(stop.reason) : outcome.message();
  // The failure precedes the end, so that the last event of each run is kEnded.
  if (!outcome.ok()) {
    record(LoopEvent::kFailed, what_, detail, failed_rank >= 0 ? failed_rank : rank_);
  }
  record(LoopEvent::kEnded, word, detail, rank_);
}

void LoopRecorder::served(absl::string_view what, absl::string_view detail) {
  record(LoopEvent::kServed, what, detail, rank_);
}

void LoopRecorder::opened(absl::string_view what, absl::string_view name) {
  record(LoopEvent::kOpened, what, name, rank_);
}

void LoopRecorder::closed(absl::string_view what, absl::string_view name) {
  record(LoopEvent::kClosed, what, name, rank_);
}

void LoopRecorder::reported(const Report& report) {
  summary_.train = report.metrics;
  summary_.train_report = {
      .step = report.progress.step, .steps = report.steps, .examples = report.examples};
  for (const auto& [name, table] : report.tables) {
    if (table.evicted.empty()) continue;
    record(LoopEvent::kEvicted, name, absl::StrJoin(table.evicted, ", ", absl::PairFormatter(" ")),
           rank_);
  }
}

void LoopRecorder::evaluated(const EvaluationResult& result) {
  summary_.eval[result.set] = result.metrics;
  summary_.eval_step[result.set] = result.progress.step;
  summary_.unknown_shares[result.set] = result.unknown_shares;
}

void LoopRecorder::refused_step(absl::string_view reason) {
  record(LoopEvent::kRefused, "step", reason, rank_);
}

void LoopRecorder::requested(const RequestSet& requests, Scope scope) {
  for (const Request& request : requests.asked) record(LoopEvent::kRequested, request, scope);
}

void LoopRecorder::served(const Request& request, Scope scope) {
  record(LoopEvent::kServed, request, scope);
}

void LoopRecorder::served(Request::Kind kind, const RequestSet& requests, Scope scope) {
  for (const Request& request : requests.asked) {
    if (request.kind == kind) record(LoopEvent::kServed, request, scope);
  }
}

void LoopRecorder::record(LoopEvent::Kind kind, absl::string_view what, absl::string_view detail,
                          int rank) {
  if (log_ == nullptr) return;
  LoopEvent event;
  event.kind = kind;
  event.what = std::string(what);
  event.rank = rank;
  event.detail = std::string(detail);
  event.progress = loop_.position.progress;
  event.world_size = world_size_;
  log_->record(event);
}

void LoopRecorder::record(LoopEvent::Kind kind, const Request& request, Scope scope) {
  if (log_ == nullptr) return;
  LoopEvent event;
  event.kind = kind;
  event.what = std::string(request_name(request.kind));
  event.hook = request.hook;
  event.rank = scope == Scope::kThisRank ? request.rank : rank_;
  event.scope = scope;
  event.detail = request.detail;
  event.progress = loop_.position.progress;
  log_->record(event);
}

}  // namespace millrace
