#include "framework/loop/evaluations.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/loop/evaluator.h"
#include "framework/loop/loop_state.h"
#include "framework/model/model.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/report_watch.h"
#include "io/cursor_state.h"
#include "proto/paired_evaluation_state.pb.h"

namespace millrace {

std::vector<std::string> names_of(const std::vector<EvaluationSet>& sets) {
  std::vector<std::string> names;
  for (const EvaluationSet& set : sets) names.push_back(set.name);
  return names;
}

EvaluationOptions named(const std::string& set, const std::vector<std::string>& metrics) {
  EvaluationOptions options;
  options.name = set;
  options.metrics = metrics;
  return options;
}

EvaluationOptions options_of(const EvaluationSet& set) {
  EvaluationOptions options = named(set.name, set.metrics);
  options.no_examples = set.no_examples;
  return options;
}

// Keeps the ranks of one evaluation in step.
class Evaluations::Ranks : public EvaluationRanks {
 public:
  explicit Ranks(const Parts& parts) : parts_(parts) {}

  absl::StatusOr<std::optional<Batch>> next(Dataset& data) override {
    return parts_.feed.read(data, RankPhase::kEvaluation);
  }

  absl::StatusOr<std::optional<Window>> next_window(WindowedDataset& windows,
                                                    bool time_is_up) override {
    RankShare share;
    share.elapsed = parts_.context.progress().elapsed;
    share.time_is_up = time_is_up;
    RETURN_IF_ERROR(parts_.agreement.meet({"window of evaluation", batches_}, share));
    const ExchangeResult& agreed = parts_.agreement.result();
    if (agreed.requests.stop > 0) {
      ASSIGN_OR_RETURN(asked_, parts_.agreement.requests());
      return std::nullopt;
    }
    if (agreed.time_is_up > 0) return std::nullopt;
    ASSIGN_OR_RETURN(const WindowState state, windows.next_window(), "looking for a window");
    if (state.kind != WindowState::kReady) return std::nullopt;
    return state.window;
  }

  void start(const Batch* next) override {
    RankShare share;
    // An interrupted rank takes part until all ranks know of the stop. The end of the training time
    // stops no evaluation.
    const bool stops = parts_.feed.interrupted() && !parts_.feed.time_is_up();
    share.has_data = next != nullptr || stops;
    share.examples = next != nullptr ? next->size : 0;
    share.elapsed = parts_.context.progress().elapsed;
    parts_.agreement.start({"evaluation", batches_++}, share);
  }

  absl::StatusOr<bool> finish() override {
    RETURN_IF_ERROR(parts_.agreement.verify());
    const ExchangeResult& agreed = parts_.agreement.result();
    // The next exchange of training carries the requests, unless a rank asked to stop.
    if (agreed.requests.stop == 0) {
      RETURN_IF_ERROR(parts_.feed.check_interruption());
      return agreed.ranks_with_data > 0;
    }
    ASSIGN_OR_RETURN(asked_, parts_.agreement.requests());
    return false;
  }

  bool agrees_first() const override { return parts_.tables != nullptr && parts_.tables->active(); }

  absl::Status fetch(const Batch& batch, absl::Status begun) override {
    if (parts_.tables == nullptr) return begun;
    parts_.tables->begin(Phase::kEvaluate, parts_.context.progress().steps_done());
    return begun.ok() ? parts_.tables->fetch({&batch, 1}) : parts_.tables->fail(begun);
  }

  bool stopped() const override { return asked_.has(Request::kStop); }

  absl::Status merge(std::initializer_list<RankPart*> parts) override {
    RETURN_IF_ERROR(parts_.agreement.meet({"end of evaluation", batches_}));
    return merge_ranks(parts_.agreement.collectives(), parts);
  }

  // Returns the requests of single ranks from the exchange that stopped the evaluation.
  const RequestSet& asked() const { return asked_; }

 private:
  const Parts& parts_;
  int64_t batches_ = 0;
  RequestSet asked_;
};

Evaluations::Evaluations(const Parts& parts, std::vector<EvaluationSet> sets,
                         std::vector<PairedSet> paired, EvaluationOptions defaults,
                         BestScoreOptions best)
    : parts_(parts),
      sets_(std::move(sets)),
      defaults_(std::move(defaults)),
      best_(std::move(best)) {
  for (PairedSet& set : paired) {
    paired_.push_back(std::make_unique<PairedEvaluation>(std::move(set)));
  }
}

void Evaluations::begin_run() {
  metrics_.clear();
  warned_.clear();
  failed_ = false;
}

absl::StatusOr<EvaluationSet*> Evaluations::find(absl::string_view name) {
  for (EvaluationSet& set : sets_) {
    if (set.name == name) return &set;
  }
  return absl::NotFoundError(
      absl::StrCat("no evaluation set is named \"", name, "\"", did_you_mean(name, names())));
}

absl::StatusOr<std::vector<EvaluationSet*>> Evaluations::requested(const RequestSet& requests) {
  const std::set<std::string> asked = requests.evaluation_sets();
  for (const std::string& name : asked) {
    if (!name.empty()) RETURN_IF_ERROR(find(name).status());
  }
  std::vector<EvaluationSet*> sets;
  for (EvaluationSet& set : sets_) {
    if (requests.evaluates_all() || asked.count(set.name) > 0) sets.push_back(&set);
  }
  return sets;
}

absl::StatusOr<Evaluated> Evaluations::run(Dataset& data, EvaluationOptions options,
                                           bool state_is_whole) {
  if (options.tasks.empty()) options.tasks = defaults_.tasks;
  if (options.metrics.empty()) options.metrics = defaults_.metrics;
  options.metric_configs = defaults_.metric_configs;
  // Slices may have metrics that keep examples.
  if (options.consumer == nullptr) options.slices = defaults_.slices;
  options.compute = defaults_.compute;
  EvaluationLimits& limits = options.limits;
  if (limits.max_steps == 0) limits.max_steps = defaults_.limits.max_steps;
  if (limits.max_windows == 0) limits.max_windows = defaults_.limits.max_windows;
  if (limits.max_elapsed == absl::ZeroDuration()) limits.max_elapsed = defaults_.limits.max_elapsed;
  const bool in_training = parts_.context.phase() == Phase::kTrain;
  Ranks ranks(parts_);
  // Invariant: an evaluation changes nothing that checkpoints include.
  parts_.agreement.set_state_is_whole(in_training && state_is_whole);
  absl::StatusOr<std::optional<EvaluationResult>> result = std::nullopt;
  absl::Status outcome;
  {
    const ScopedValue<Phase> evaluating = parts_.context.evaluating();
    const TrainingClock::Pause no_training(parts_.training);
    const Progress& progress = parts_.context.progress();
    const PhaseScope phase(parts_.agreement.collectives(), progress, RankPhase::kEvaluation);
    outcome = catch_part_exceptions("the evaluation", [&] {
      const MovingAverage::InPlace averages(parts_.model.evaluated_average());
      result =
          run_evaluation(*parts_.model.model, data, options, progress, parts_.context, parts_.hooks,
                         ranks, parts_.context.evaluation_values(), parts_.training.clock());
      return result.status();
    });
  }
  if (!outcome.ok()) return in_training ? mark_failure(std::move(outcome)) : outcome;
  parts_.agreement.set_state_is_whole(false);
  if (result->has_value() && options.consumer == nullptr) {
    metrics_[options.name] = (*result)->metrics;
    warn(**result, options);
  }
  return Evaluated{*std::move(result), ranks.asked()};
}

void Evaluations::warn(const EvaluationResult& result, const EvaluationOptions& options) {
  if (parts_.context.rank() != 0) return;
  for (const EvaluationWarning& warning : check_evaluation(result, options.tasks, options.slices)) {
    if (!warned_.insert({result.set, warning.subject}).second) continue;
    MILLRACE_LOG(WARNING) << "evaluating \"" << result.set << "\": " << warning.text;
  }
}

// Records the failure of an evaluation within training. Returns the failure, marked as the failure
// of an evaluation on the ranks that caused it.
absl::Status Evaluations::mark_failure(absl::Status failure) {
  // The connection to a rank may be gone before the next exchange reports it.
  const bool of_another_rank =
      absl::IsAborted(failure) &&
      (parts_.agreement.over() || !parts_.agreement.collectives().failure().ok());
  failed_ = !of_another_rank || parts_.agreement.all_whole();
  return of_another_rank ? failure : replace_kind(std::move(failure), FailureKind::kEvaluation);
}

bool Evaluations::note(const std::string& set) {
  last_step_[set] = step();
  const std::optional<BestScore::Best> before = best();
  if (!best_.observe(current_metrics(), step())) return false;
  if (parts_.context.rank() == 0) {
    MILLRACE_LOG(INFO) << "best score: " << best()->value << " at step " << step() << " ("
                       << best_.name()
                       << (before.has_value() ? absl::StrCat("; before: ", before->value,
                                                             " at step ", before->step)
                                              : "")
                       << ")";
  }
  return true;
}

bool Evaluations::is_current(const std::string& set) const {
  const auto last = last_step_.find(set);
  return last != last_step_.end() && last->second == step();
}

std::map<std::string, double> Evaluations::current_metrics() const {
  std::map<std::string, double> metrics;
  if (restored_step_ == step()) metrics = restored_metrics_;
  for (const auto& [set, values] : metrics_) {
    if (!is_current(set)) continue;
    for (const auto& [name, value] : values) metrics[absl::StrCat(set, "/", name)] = value;
  }
  return metrics;
}

void Evaluations::forget() {
  last_step_.clear();
  metrics_.clear();
  restored_step_ = -1;
}

void Evaluations::save(SharedState* state) const {
  for (const auto& [set, step] : last_step_) {
    EvaluatedSet& evaluated = *state->add_evaluated();
    evaluated.set_set(set);
    evaluated.set_step(step);
  }
  best_.save(state);
}

void Evaluations::restore(const SharedState& state, std::vector<std::string>* notes) {
  forget();
  for (const EvaluatedSet& set : state.evaluated()) last_step_[set.set()] = set.step();
  best_.restore(state, notes);
}

void Evaluations::restore_metrics(std::map<std::string, double> metrics) {
  restored_metrics_ = std::move(metrics);
  restored_step_ = step();
}

namespace {

constexpr int32_t kPairedVersion = 1;

}  // namespace

// The open window of the stream, from the stream's position.
class PairedEvaluation::OpenWindow : public Dataset {
 public:
  explicit OpenWindow(WindowedDataset& windows) : windows_(windows) {}
  absl::Status start_epoch(int64_t) override { return absl::OkStatus(); }
  absl::Status seek(absl::Span<const Cursor>) override {
    return absl::UnimplementedError("a window that is evaluated has no positions");
  }
  absl::StatusOr<std::optional<Batch>> next() override { return windows_.next(); }
  void cancel() override { windows_.cancel(); }

 private:
  WindowedDataset& windows_;
};

PairedEvaluation::PairedEvaluation(PairedSet set)
    : name_(std::move(set.name)),
      metrics_(std::move(set.metrics)),
      windows_(std::move(set.windows)),
      open_window_(std::make_unique<OpenWindow>(*windows_)) {
  cursor_.stream.emplace().finished = true;
}

absl::StatusOr<WindowedDataset*> PairedEvaluation::stream() {
  if (!begun_) {
    if (last_paired_ < 0) {
      RETURN_IF_ERROR(windows_->start_epoch(0));
    } else {
      RETURN_IF_ERROR(windows_->seek({&cursor_, 1}));
    }
    begun_ = true;
  }
  return windows_.get();
}

void PairedEvaluation::evaluated(const Window& window, int64_t training_window) {
  cursor_.stream = {.window = window.index, .finished = true, .bytes = window.stream};
  last_paired_ = training_window;
}

absl::Status PairedEvaluation::save_state(ObjectState& state) const {
  if (last_paired_ < 0) return absl::OkStatus();
  PairedEvaluationState paired;
  paired.set_training_window(last_paired_);
  *paired.mutable_cursor() = to_state(cursor_);
  state.version = kPairedVersion;
  state.bytes = paired.SerializeAsString();
  return absl::OkStatus();
}

absl::Status PairedEvaluation::load_state(absl::Span<const ObjectState> per_rank) {
  Cursor cursor;
  cursor.stream.emplace().finished = true;
  int64_t last_paired = -1;
  if (!per_rank.empty() && !per_rank[0].empty()) {
    PairedEvaluationState paired;
    if (per_rank[0].version != kPairedVersion || !paired.ParseFromString(per_rank[0].bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the position of evaluation set ", name_, " is damaged"));
    }
    ASSIGN_OR_RETURN(cursor, from_state(paired.cursor()));
    last_paired = paired.training_window();
  }
  cursor_ = std::move(cursor);
  last_paired_ = last_paired;
  begun_ = false;
  return absl::OkStatus();
}

}  // namespace millrace
