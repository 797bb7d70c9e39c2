#include "job/job.h"

#include <ATen/Parallel.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/bank/model_bank_check.h"
#include "config/config_check.h"
#include "config/training_size.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/one_rank_collectives.h"
#include "framework/loop/best_score.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/model/model_registry.h"
#include "framework/report/jsonl_event_log.h"
#include "hook/hook_registry.h"
#include "io/feature_schema.h"
#include "job/default_hooks.h"
#include "job/instruction_set_flag.h"
#include "job/job_check.h"
#include "job/job_checkpoints.h"
#include "job/job_data.h"
#include "job/ranks.h"
#include "job/report/report_options.h"
#include "job/run_end.h"
#include "job/task_use.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/gradient_clipping.h"
#include "optim/moving_average.h"
#include "optim/schedule/schedule.h"
#include "optim/sparse_optimizer.h"
#include "plugin/configured_plugins.h"
#include "plugin/plugin_config_check.h"
#include "proto/config_reader.h"
#include "proto/field_check.h"
#include "proto/optimizer_list.h"
#include "sinks/configured_sinks.h"

namespace millrace {
namespace {

// Clears the schedules of all optimizers.
void clear_schedules(TrainConfig* train) {
  train->mutable_optimizer()->clear_schedule();
  for (DenseOptimizerConfig& optimizer : *train->mutable_more_optimizers()) {
    optimizer.clear_schedule();
  }
  train->mutable_sparse_optimizer()->clear_schedule();
  for (TableConfig& table : *train->mutable_table()) {
    if (table.has_optimizer()) table.mutable_optimizer()->clear_schedule();
  }
}

BestScoreOptions best_score_of(const BestScoreConfig& config) {
  BestScoreOptions options;
  for (const BestScoreConfig::Term& term : config.term()) {
    options.terms.push_back({term.monitor(), term.weight()});
  }
  options.higher_is_better = higher_is_better(config).value_or(true);
  return options;
}

constexpr char kNoWindow[] = "no window with examples is ready";

// Builds the parts of a trainer, one after the other.
class JobBuilder {
 public:
  JobBuilder(const JobConfig& config, const JobResources& resources,
             std::unique_ptr<Collectives> collectives)
      : config_(config),
        resources_(resources),
        threads_(threads_of_rank(config.run(), resources.local_world_size)),
        collectives_(collectives != nullptr ? std::move(collectives)
                                            : std::make_unique<OneRankCollectives>()),
        data_(config, resources, collectives_) {
    // Shared, so that a trainer that cannot be built stays in the job until the other ranks are
    // notified of the reason.
    parts_.collectives = std::make_unique<ForwardedCollectives>(collectives_);
  }

  absl::StatusOr<std::unique_ptr<Trainer>> trainer() {
    RETURN_IF_ERROR(report_failure(make_training_parts()));
    absl::StatusOr<std::unique_ptr<Trainer>> trainer = make_trainer();
    RETURN_IF_ERROR(report_failure(trainer.status()));
    RETURN_IF_ERROR(report_failure(add_hooks(**trainer)));
    data_.log();
    if (collectives_->rank() == 0) {
      for (const std::string& warning : config_warnings(config_.train())) {
        MILLRACE_LOG(WARNING) << warning;
      }
      const std::string omitted = span_warning(config_);
      if (!omitted.empty()) MILLRACE_LOG(WARNING) << omitted;
    }
    return trainer;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> evaluator() {
    RETURN_IF_ERROR(report_failure(make_evaluation_parts()));
    absl::StatusOr<std::unique_ptr<Trainer>> trainer = make_trainer();
    RETURN_IF_ERROR(report_failure(trainer.status()));
    data_.log();
    return trainer;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> step_trainer(const TrainDataChange& change) {
    RETURN_IF_ERROR(data_.make_schema());
    RETURN_IF_ERROR(set_step_size());
    ASSIGN_OR_RETURN(parts_.train_data, data_.open_training(step_size_.batch_size),
                     "train.train_data");
    ASSIGN_OR_RETURN(parts_.train_data, change(std::move(parts_.train_data)), "train.train_data");
    return make_step_trainer();
  }

  absl::StatusOr<std::unique_ptr<Trainer>> trial_trainer() {
    RETURN_IF_ERROR(data_.make_schema());
    RETURN_IF_ERROR(set_step_size());
    ASSIGN_OR_RETURN(parts_.train_data, data_.open_training(step_size_.batch_size),
                     "train.train_data");
    ASSIGN_OR_RETURN(parts_.evaluation_sets, data_.open_evaluation_sets());
    RETURN_IF_ERROR(data_.check_evaluation_sets());
    make_model_bank(model_bank_of(config_.train()));
    data_.log();
    return make_step_trainer(/*reports_at_end=*/true);
  }

  // `unmade`: parts that the configuration does not have any more.
  absl::StatusOr<std::vector<std::string>> check_parts(std::vector<std::string> unmade) {
    unmade_ = &unmade;
    RETURN_IF_ERROR(data_.make_schema());
    totals_ = training_totals(config_.train());
    absl::Status made = make_model();
    if (made.ok()) made = make_optimizers();
    // The machine that trains may be larger than the one that checks.
    if (kind_of(made) == FailureKind::kMachine) {
      unmade.push_back(absl::StrCat("model, optimizers, metrics and hooks (", made.message(), ")"));
      return unmade;
    }
    RETURN_IF_ERROR(made);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, make_trainer());
    RETURN_IF_ERROR(add_configured_hooks(*trainer));
    return unmade;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> loader() {
    RETURN_IF_ERROR(data_.make_schema());
    RETURN_IF_ERROR(make_loaded_parts());
    return make_trainer();
  }

 private:
  // Reports an error to the other ranks, which would otherwise wait.
  absl::Status report_failure(absl::Status status) {
    if (!status.ok()) collectives_->fail(status);
    return status;
  }

  absl::Status set_step_size() {
    ASSIGN_OR_RETURN(step_size_, step_size(config_.train(), collectives_->world_size()), "train");
    return absl::OkStatus();
  }

  absl::Status make_training_parts() {
    RETURN_IF_ERROR(data_.make_schema());
    RETURN_IF_ERROR(set_step_size());
    ASSIGN_OR_RETURN(parts_.train_data, data_.open_training(step_size_.batch_size),
                     "train.train_data");
    ASSIGN_OR_RETURN(parts_.evaluation_sets, data_.open_evaluation_sets());
    has_evaluation_sets_ = !parts_.evaluation_sets.empty();
    if (config_.run().evaluation().enabled()) {
      RETURN_IF_ERROR(data_.check_evaluation_sets());
      ASSIGN_OR_RETURN(parts_.paired_sets, data_.open_paired_sets());
    }
    RETURN_IF_ERROR(set_totals());
    RETURN_IF_ERROR(make_model());
    RETURN_IF_ERROR(make_optimizers());
    make_event_log();
    make_model_bank(model_bank_of(config_.train()));
    ASSIGN_OR_RETURN(parts_.saver,
                     create_saver(config_, resources_.files, resources_.clock, resources_.token));
    return absl::OkStatus();
  }

  // Returns a trainer without limits, for measuring steps. REQUIRES: the data is open.
  absl::StatusOr<std::unique_ptr<Trainer>> make_step_trainer(bool reports_at_end = false) {
    RETURN_IF_ERROR(set_totals());
    RETURN_IF_ERROR(make_model());
    RETURN_IF_ERROR(make_optimizers());
    ASSIGN_OR_RETURN(TrainerOptions options, trainer_options());
    static_cast<Limits&>(options) = Limits();
    options.max_steps_per_epoch = 0;
    options.report.at_end |= reports_at_end;
    return make_trainer(std::move(options));
  }

  absl::Status make_evaluation_parts() {
    RETURN_IF_ERROR(data_.make_schema());
    if (config_.train().eval_data().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is nothing to evaluate: give ", resources_.eval_data_flag, " or train.eval_data"));
    }
    ASSIGN_OR_RETURN(parts_.evaluation_sets, data_.open_evaluation_sets());
    ASSIGN_OR_RETURN(std::vector<PairedSet> in_windows, data_.open_paired_sets());
    for (PairedSet& set : in_windows) {
      parts_.evaluation_sets.push_back(
          {set.name, std::move(set.windows), std::move(set.metrics), kNoWindow});
    }
    return make_loaded_parts();
  }

  absl::Status make_loaded_parts() {
    // For state missing in a checkpoint.
    make_model_bank(weights_alone(model_bank_of(config_.train())));
    return make_model();
  }

  // Sets the totals of training, of which schedules have shares. Counts the examples of the
  // training data if a total follows from their number. REQUIRES: the training data is open.
  absl::Status set_totals() {
    const TrainConfig& train = config_.train();
    totals_ = training_totals(train);
    const bool of_cadence = totals_.counted_at_start && !find_cadence_share(config_).empty();
    if (!needs_epoch_size(train) && !of_cadence) return absl::OkStatus();
    ASSIGN_OR_RETURN(epoch_examples_, data_.count_training_examples());
    const EpochSize epoch =
        epoch_size(train, step_size_, collectives_->world_size(), epoch_examples_);
    if (epoch.steps == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("train.train_data: an epoch of ", epoch_examples_,
                       " examples has no step; check its paths, split and batch_size"));
    }
    totals_ = training_totals(train, epoch);
    // A total beyond int64 is unknown, which the schedule reports.
    if (collectives_->rank() != 0 || !totals_.steps.has_value()) return absl::OkStatus();
    MILLRACE_LOG(INFO) << "train_data: an epoch has " << epoch.examples << " examples in "
                       << epoch.steps << " steps; schedules and cadences take their shares of the "
                       << *totals_.steps << " steps, or " << *totals_.examples
                       << " examples, of max_epochs " << train.max_epochs();
    return absl::OkStatus();
  }

  absl::Status make_model() {
    RETURN_IF_ERROR(check_threads(threads_), absl::StrCat("run.threads: ", threads_));
    const std::string many = many_threads_warning(threads_, machine_cores());
    if (!many.empty() && collectives_->rank() == 0) {
      MILLRACE_LOG(WARNING) << many;
    }
    at::set_num_threads(threads_);
    const TrainConfig& train = config_.train();
    ModelResources resources = resources_of(train, data_.schema());
    resources.embeddings.threads = threads_;
    ASSIGN_OR_RETURN(resources.embeddings.instruction_set,
                     chosen_instruction_set(config_.run().instruction_set()), "run");
    ASSIGN_OR_RETURN(parts_.model, create_model(train.model(), resources, train.seed()),
                     "train.model");
    // The model is created on the CPU, so that its initial values do not depend on the device.
    if (!resources_.cuda_device.has_value()) return absl::OkStatus();
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(*resources_.cuda_device));
    return catch_exceptions(absl::StrCat("moving the model to ", device.str()), [&] {
      parts_.model->move_to(device);
      return absl::OkStatus();
    });
  }

  absl::Status make_optimizers() {
    const TrainConfig& train = config_.train();
    if (train.train_step().has_custom()) {
      ASSIGN_OR_RETURN(parts_.train_step, create_train_step(train.train_step()), "train");
    }
    ASSIGN_OR_RETURN(
        parts_.dense_optimizers,
        create_dense_optimizers(dense_optimizers_of(train), parameters_of(*parts_.model), totals_),
        "train.optimizer");
    if (train.has_clipping()) {
      ASSIGN_OR_RETURN(parts_.clipping, GradientClipping::create(train.clipping()), "train");
    }
    if (train.has_moving_average()) {
      ASSIGN_OR_RETURN(parts_.moving_average,
                       MovingAverage::create(train.moving_average(), parameters_of(*parts_.model)),
                       "train");
    }
    const std::vector<EmbeddingCollection*> collections = collections_of(*parts_.model);
    if (collections.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(parts_.sparse_optimizer,
                     SparseOptimizer::create(train.sparse_optimizer(), collections, totals_),
                     "train.sparse_optimizer");
    return absl::OkStatus();
  }

  absl::StatusOr<TrainerOptions> trainer_options() const {
    const TrainConfig& train = config_.train();
    const RunConfig& run = config_.run();
    TrainerOptions options{limits_of(train)};
    options.seed = train.seed();
    options.micro_batches = step_size_.micro_batches;
    options.total_steps = totals_.steps.value_or(0);
    options.max_steps_per_window = train.max_steps_per_window();
    options.max_windows_per_epoch = train.max_windows_per_epoch();
    options.detect_anomaly = run.detect_anomaly();
    options.max_steps_per_epoch = train.max_steps_per_epoch();
    options.evaluation_limits = {.max_steps = train.max_evaluation_steps(),
                                 .max_windows = train.max_evaluation_windows(),
                                 .max_elapsed = absl::Seconds(train.max_evaluation_seconds())};
    options.precision = train.precision();
    options.until_first = train.uneven_data() == TrainConfig::UNTIL_FIRST;
    options.data_timeout = absl::Seconds(run.distributed().data_timeout_seconds());
    options.poll_interval = absl::Seconds(run.distributed().poll_interval_seconds());
    options.report = report_cadence(run.report(), options.report);
    options.spans = span_options(run.report());
    options.progressive_evaluation = run.evaluation().enabled() && run.evaluation().progressive();
    options.best = best_score_of(run.evaluation().best());
    options.save_best = run.checkpoint().enabled();
    options.save_at_end = run.checkpoint().enabled() && run.checkpoint().at_end();
    options.save_on_failure = run.checkpoint().enabled() && run.checkpoint().on_failure();
    options.tasks = data_.schema().labels();
    if (!train.metric().empty()) options.metrics = {train.metric().begin(), train.metric().end()};
    options.metric_configs = {train.custom_metric().begin(), train.custom_metric().end()};
    ASSIGN_OR_RETURN(options.slices,
                     slice_options(train, data_.schema(), resources_.files, unmade_));
    return options;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> make_trainer() {
    ASSIGN_OR_RETURN(TrainerOptions options, trainer_options());
    return make_trainer(std::move(options));
  }

  absl::StatusOr<std::unique_ptr<Trainer>> make_trainer(TrainerOptions options) {
    parts_.clock = &resources_.clock;
    return Trainer::create(std::move(options), std::move(parts_));
  }

  void make_model_bank(ModelBankConfig config) {
    if (config.source_size() == 0) return;
    const auto& features = config_.train().feature();
    auto bank =
        std::make_unique<ModelBank>(std::move(config), resources_.files, threads_,
                                    std::vector<FeatureConfig>(features.begin(), features.end()));
    reloads_ = bank->dynamic();
    parts_.model_bank = std::move(bank);
  }

  void make_event_log() {
    auto log = std::make_unique<JsonlEventLog>(
        resources_.files, resources_.clock, join_path(config_.run().output_dir(), "events.jsonl"),
        collectives_->rank());
    event_log_ = log.get();
    parts_.event_log = std::move(log);
  }

  absl::Status add_hooks(Trainer& trainer) {
    DefaultHookParts parts{config_, resources_.files, resources_.clock};
    parts.log = resources_.log;
    parts.terminal = resources_.terminal;
    parts.colors = resources_.colors;
    parts.columns = resources_.columns;
    parts.event_log = event_log_;
    parts.has_evaluation_sets = has_evaluation_sets_;
    parts.has_dynamic_sources = reloads_;
    parts.train_windows = data_.windows();
    const TrainConfig& train = config_.train();
    const int64_t examples =
        epoch_examples_ > 0 ? epoch_examples_ : data_.estimated_training_examples();
    parts.epoch_steps = epoch_size(train, step_size_, collectives_->world_size(), examples).steps;
    if (resources_.data != nullptr) resources_.data->set_epoch_steps(parts.epoch_steps);
    const SinkRank rank{.rank = collectives_->rank(),
                        .world_size = collectives_->world_size(),
                        .local_rank = resources_.local_rank,
                        .local_world_size = resources_.local_world_size};
    ListeningSinks listening;
    if (resources_.listening != nullptr) listening = std::move(*resources_.listening);
    ASSIGN_OR_RETURN(auto sinks, make_sinks(config_, resources_.files, rank, std::move(listening)));
    parts.sinks = &sinks;
    parts.activity = resources_.activity;
    parts.status = resources_.status;
    for (const DefaultHook& hook : default_hooks()) {
      std::unique_ptr<Hook> made = hook.make(parts);
      if (made == nullptr) continue;
      RETURN_IF_ERROR(trainer.add_hook(std::move(made), hook.on_error(config_)));
    }
    return add_configured_hooks(trainer);
  }

  absl::Status add_configured_hooks(Trainer& trainer) {
    RETURN_IF_ERROR(add_configured("train.hooks", config_.train().hooks(), trainer));
    return add_configured("run.hooks", config_.run().hooks(), trainer);
  }

  template <typename Configs>
  absl::Status add_configured(absl::string_view list, const Configs& configs, Trainer& trainer) {
    for (int i = 0; i < configs.size(); ++i) {
      const absl::Status status = add_configured(configs[i], trainer);
      if (status.ok()) continue;
      const std::string where = entry(list, i);
      if (!absl::IsInvalidArgument(status)) return annotate(status, where);
      // A line per mistake.
      return wrong(
          where, absl::StrReplaceAll(status.message(), {{"\n", absl::StrCat("\n", where, ": ")}}));
    }
    return absl::OkStatus();
  }

  absl::Status add_configured(const HookConfig& config, Trainer& trainer) {
    const HookResources resources{resources_.files, resources_.clock, config_.run().output_dir(),
                                  trainer.collections(), published_folder(config_.run())};
    if (config.has_plugin() && unmade_ != nullptr) {
      unmade_->push_back(absl::StrCat("hook ", instance_name(config), " of a plugin"));
      return absl::OkStatus();
    }
    if (config.has_plugin()) {
      ASSIGN_OR_RETURN(ConfiguredPluginHook made,
                       create_configured_plugin_hook(config, config_.run().plugins(), resources));
      return trainer.add_hook(std::move(made.hook), made.on_error);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Hook> hook, create_hook(config, resources));
    return trainer.add_hook(std::move(hook), on_error_of(config));
  }

  const JobConfig& config_;
  const JobResources& resources_;
  const int threads_;
  const std::shared_ptr<Collectives> collectives_;  // shared with the trainer
  JobData data_;
  StepSize step_size_;  // of training
  ScheduleTotals totals_;
  int64_t epoch_examples_ = 0;  // of training, as counted; 0: not counted
  TrainerParts parts_;
  bool has_evaluation_sets_ = false;
  JsonlEventLog* event_log_ = nullptr;
  bool reloads_ = false;  // the model bank
  // If not null, plugins do not run, and each part that is not made therefore is added.
  std::vector<std::string>* unmade_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> build_trainer(const CheckedJob& job,
                                                       const JobResources& resources,
                                                       std::unique_ptr<Collectives> collectives) {
  if (job.use() != CheckedJob::Use::kTraining) {
    return absl::FailedPreconditionError(
        "the job was checked for the use of its model; check it with CheckedJob::Use::kTraining");
  }
  return JobBuilder(job.config(), resources, std::move(collectives)).trainer();
}

absl::StatusOr<std::unique_ptr<Trainer>> build_evaluator(const JobConfig& config,
                                                         const JobResources& resources,
                                                         std::unique_ptr<Collectives> collectives) {
  return JobBuilder(config, resources, std::move(collectives)).evaluator();
}

absl::StatusOr<std::unique_ptr<Trainer>> build_step_trainer(const CheckedJob& job,
                                                            const JobResources& resources,
                                                            const TrainDataChange& change) {
  return JobBuilder(job.config(), resources, /*collectives=*/nullptr).step_trainer(change);
}

absl::StatusOr<std::unique_ptr<Trainer>> build_trial_trainer(const CheckedJob& job,
                                                             const JobResources& resources) {
  return JobBuilder(job.config(), resources, /*collectives=*/nullptr).trial_trainer();
}

absl::StatusOr<std::vector<std::string>> check_parts(const CheckedJob& job,
                                                     const JobResources& resources) {
  JobConfig config = job.config();
  std::vector<std::string> unmade;
  // No assumed total would do: the lengths that a schedule compares may be shares and counts.
  if (needs_epoch_size(config.train())) {
    clear_schedules(config.mutable_train());
    unmade.push_back("schedules, with shares of the steps that training counts");
  }
  return JobBuilder(config, resources, /*collectives=*/nullptr).check_parts(std::move(unmade));
}

absl::StatusOr<std::unique_ptr<Trainer>> build_loader(const JobConfig& config,
                                                      const JobResources& resources) {
  return JobBuilder(config, resources, /*collectives=*/nullptr).loader();
}

}  // namespace millrace
