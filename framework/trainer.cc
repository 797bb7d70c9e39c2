#include "framework/trainer.h"

#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/phase_timer.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "framework/report/metric_set.h"
#include "framework/report/span_metrics.h"
#include "framework/trainer_loop.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::create(TrainerOptions options,
                                                         TrainerParts parts) {
  RETURN_IF_ERROR(check_trainer_parts(options, parts));
  ASSIGN_OR_RETURN(MetricSet metrics,
                   MetricSet::create(options.metrics, options.tasks, LossScope::kWholeStep,
                                     options.metric_configs, options.slices));
  ASSIGN_OR_RETURN(SpanMetrics spans, SpanMetrics::create(options.spans, options.metrics,
                                                          options.tasks, options.metric_configs));
  if (parts.train_step == nullptr) parts.train_step = create_standard_train_step();
  if (parts.collectives == nullptr) parts.collectives = std::make_unique<OneRankCollectives>();
  if (parts.clock == nullptr) parts.clock = &Clock::real();
  if (parts.collectives->world_size() > 1) {
    const Placement own = {parts.collectives->rank(), parts.collectives->world_size()};
    for (EmbeddingCollection* collection : collections_of(*parts.model)) {
      RETURN_IF_ERROR(collection->shard(own));
    }
  }
  auto timer = std::make_unique<PhaseTimer>(*parts.clock);
  parts.collectives = std::make_unique<TimedCollectives>(std::move(parts.collectives), *timer);
  auto loop = std::make_unique<TrainerLoop>(std::move(options), std::move(parts), std::move(timer),
                                            std::move(metrics), std::move(spans));
  RETURN_IF_ERROR(loop->register_states());
  return std::unique_ptr<Trainer>(new Trainer(std::move(loop)));
}

Trainer::Trainer(std::unique_ptr<TrainerLoop> loop) : loop_(std::move(loop)) {}

Trainer::~Trainer() = default;

absl::Status Trainer::add_hook(std::unique_ptr<Hook> hook, OnError on_error) {
  return loop_->hooks().add(std::move(hook), on_error);
}

absl::Status Trainer::add_hooks(std::vector<std::unique_ptr<Hook>> hooks, OnError on_error) {
  for (std::unique_ptr<Hook>& hook : hooks) {
    RETURN_IF_ERROR(add_hook(std::move(hook), on_error));
  }
  return absl::OkStatus();
}

std::vector<std::string> Trainer::hook_names() const { return loop_->hooks().names(); }

absl::StatusOr<Summary> Trainer::train(const RunLimits& limits) {
  return loop_->train("train", limits, /*evaluate_at_end=*/false);
}

absl::StatusOr<Summary> Trainer::train_and_evaluate(const RunLimits& limits) {
  return loop_->train("train_and_evaluate", limits, /*evaluate_at_end=*/true);
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(absl::string_view set_name,
                                                   const EvaluationLimits& limits) {
  ASSIGN_OR_RETURN(EvaluationSet * set, loop_->evaluations().find(set_name));
  EvaluationOptions options = options_of(*set);
  options.limits = limits;
  return evaluate(*set->data, std::move(options));
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(Dataset& data, EvaluationOptions options) {
  return loop_->evaluate(data, std::move(options));
}

absl::StatusOr<EvaluationResult> Trainer::predict(absl::string_view set_name,
                                                  const PredictionConsumer& consumer,
                                                  const EvaluationLimits& limits) {
  ASSIGN_OR_RETURN(EvaluationSet * set, loop_->evaluations().find(set_name));
  EvaluationOptions options = options_of(*set);
  options.limits = limits;
  return predict(*set->data, consumer, std::move(options));
}

absl::StatusOr<EvaluationResult> Trainer::predict(Dataset& data, const PredictionConsumer& consumer,
                                                  EvaluationOptions options) {
  options.metrics = {"mean"};  // of constant memory
  options.consumer = consumer;
  ASSIGN_OR_RETURN(EvaluationResult result, loop_->evaluate(data, std::move(options)));
  result.metrics.clear();
  return result;
}

absl::Status Trainer::add_state(absl::string_view name, Checkpointable& object,
                                StatePlacement placement) {
  RETURN_IF_ERROR(loop_->check_between_runs("add_state()"));
  return loop_->state().add_object(name, object, placement);
}

absl::StatusOr<TrainState> Trainer::capture() {
  RETURN_IF_ERROR(loop_->check_between_runs("capture()"));
  return loop_->state().capture(nullptr);
}

absl::Status Trainer::restore(LoadedState loaded, std::vector<std::string>* notes) {
  RETURN_IF_ERROR(loop_->check_between_runs("restore()"));
  return loop_->state().restore(std::move(loaded), notes);
}

absl::StatusOr<std::optional<CheckpointInfo>> Trainer::resume(std::vector<std::string>* notes) {
  RETURN_IF_ERROR(loop_->check_between_runs("resume()"));
  return loop_->checkpoints().resume(notes);
}

absl::StatusOr<CheckpointInfo> Trainer::resume_from(const std::string& path,
                                                    std::vector<std::string>* notes) {
  RETURN_IF_ERROR(loop_->check_between_runs("resume_from()"));
  return loop_->checkpoints().resume_from(path, notes);
}

absl::Status Trainer::load_model_bank(std::vector<std::string>* notes) {
  RETURN_IF_ERROR(loop_->check_between_runs("load_model_bank()"));
  return loop_->checkpoints().load_model_bank(notes);
}

absl::StatusOr<std::vector<std::string>> Trainer::load_left_out(
    const std::vector<std::string>& names, const ReferredFiles& began_with) {
  return loop_->checkpoints().load_left_out(names, began_with);
}

absl::StatusOr<std::map<std::string, int64_t>> Trainer::count_rows() { return loop_->count_rows(); }

absl::StatusOr<CheckpointInfo> Trainer::save_checkpoint() {
  RETURN_IF_ERROR(loop_->check_between_runs("save_checkpoint()"));
  return loop_->checkpoints().save_between_runs();
}

std::optional<std::string> Trainer::finished() const { return loop_->checkpoints().finished(); }

const Progress& Trainer::progress() const { return loop_->progress(); }

std::optional<BestSummary> Trainer::best() const { return loop_->best(); }

const Summary& Trainer::summary() const { return loop_->summary(); }

bool Trainer::data_hangs() const { return loop_->data_hangs(); }

void Trainer::leave_job() { loop_->leave_job(); }

Model& Trainer::model() { return *loop_->model().model; }

const std::vector<EmbeddingCollection*>& Trainer::collections() const {
  return loop_->model().model_parts.collections;
}

const std::vector<NamedParameter>& Trainer::parameters() const {
  return loop_->model().model_parts.parameters;
}

}  // namespace millrace
