// The trainer's own classes, shared by its source files.
#ifndef MILLRACE_FRAMEWORK_TRAINER_INTERNAL_H_
#define MILLRACE_FRAMEWORK_TRAINER_INTERNAL_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/hook_list.h"
#include "framework/report/reporter.h"
#include "framework/trainer.h"

namespace millrace {

inline EvaluationOptions named(const std::string& set) {
  EvaluationOptions options;
  options.name = set;
  return options;
}

inline std::vector<std::string> names_of(const std::vector<EvaluationSet>& sets) {
  std::vector<std::string> names;
  for (const EvaluationSet& set : sets) names.push_back(set.name);
  return names;
}

// A save under way, and what asked for it.
struct Trainer::BegunSave {
  int64_t step = 0;
  RequestSet asked;
  Scope scope = Scope::kCommon;
};

// What hooks see of the trainer.
class Trainer::Context : public HookContext {
 public:
  explicit Context(Trainer& trainer) : trainer_(trainer) {}

  Phase phase() const override { return phase_; }
  const Progress& progress() const override { return trainer_.position_.progress; }
  bool windowed() const override { return trainer_.windows_ != nullptr; }
  int rank() const override { return trainer_.parts_.collectives->rank(); }
  int world_size() const override { return trainer_.parts_.collectives->world_size(); }
  Requests& requests() override { return requests_; }

  bool due(const Cadence& cadence) const override {
    return (starting_ && cadence.at_start) || (ending_ && cadence.at_end) ||
           cadence.crossed(served_, trainer_.position_.progress);
  }

  void report(absl::string_view name, double value, Reduction reduction) override {
    (phase_ == Phase::kTrain ? trainer_.reporter_->values() : evaluation_values_)
        .add(name, value, reduction);
  }

  // What was asked or reported outside a run is forgotten.
  void begin_run(Phase phase) {
    requests_ = Requests();
    evaluation_values_ = ReportedValues();
    phase_ = phase;
    mark_served();
  }
  void set_phase(Phase phase) { phase_ = phase; }
  void set_starting(bool starting) { starting_ = starting; }
  void set_ending(bool ending) { ending_ = ending; }
  // Cadences count from here.
  void mark_served() { served_ = trainer_.position_.progress; }
  ReportedValues& evaluation_values() { return evaluation_values_; }

 private:
  Trainer& trainer_;
  Requests requests_;
  ReportedValues evaluation_values_;
  Progress served_;
  Phase phase_ = Phase::kTrain;
  bool starting_ = false;
  bool ending_ = false;
};

// Fires the events inside a step.
class Trainer::Observer : public StepObserver {
 public:
  Observer(HookList& hooks, HookContext& context) : hooks_(hooks), context_(context) {}
  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    return hooks_.after_data(context_, batch, micro_batch);
  }
  void after_backward(const Gradients& gradients) override {
    after_backward_ = hooks_.after_backward(context_, gradients);
  }
  // What a hook said then, when other ranks were about to update already.
  const absl::Status& after_backward_status() const { return after_backward_; }

 private:
  HookList& hooks_;
  HookContext& context_;
  absl::Status after_backward_;
};

// Keeps the ranks of an evaluation in step.
class Trainer::Ranks : public EvaluationRanks {
 public:
  explicit Ranks(Trainer& trainer) : trainer_(trainer) {}
  absl::StatusOr<std::optional<Batch>> next(Dataset& data) override;
  void start(const Batch* next) override;
  absl::StatusOr<bool> finish() override;
  bool stopped() const override { return asked_.stop; }
  absl::Status merge(MetricSet& metrics, ReportedValues& values) override;
  // What single ranks asked for in the exchange that stopped the evaluation.
  const RequestSet& asked() const { return asked_; }

 private:
  Trainer& trainer_;
  int64_t batches_ = 0;
  RequestSet asked_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_INTERNAL_H_
