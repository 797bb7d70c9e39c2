#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/objects/object_files.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/trainer.h"
#include "hooks/console/console_text.h"
#include "job/generated_data.h"
#include "job/health/health.h"
#include "job/health/rank_activity.h"
#include "job/health/status_file.h"
#include "job/job.h"
#include "job/job_checkpoints.h"
#include "job/output_hook.h"
#include "job/ranks.h"
#include "job/run_end.h"
#include "proto/config_fingerprint.h"
#include "sinks/configured_sinks.h"
#include "tools/command_end.h"
#include "tools/commands.h"
#include "tools/config_flags.h"
#include "tools/device/cuda_devices.h"
#include "tools/device/device_flag.h"
#include "tools/dry_run.h"
#include "tools/exit_code.h"
#include "tools/memory_report.h"
#include "tools/output/run_outputs.h"
#include "tools/output/run_summary.h"
#include "tools/signal_exit.h"
#include "tools/terminal.h"
#include "tools/train_run.h"

namespace millrace {
namespace {

constexpr char kNoScore[] =
    "run.evaluation.best: no step has had a score, so that there is no best checkpoint; a step has "
    "one if all sets of the terms are evaluated at it and their metrics are finite";

// Writes a line only to the log file, which must be complete; people see other messages. Not during
// training, when the logger has the sink.
void log_for_the_file(absl::string_view text) {
  set_log_sink([](LogSeverity, absl::string_view) {});
  MILLRACE_LOG(INFO) << text;
  set_log_sink({});
}

// Returns "4 epochs, 1000 steps", or "none" if only the data or a signal ends training.
std::string limits_text(const TrainConfig& train) {
  std::vector<std::string> limits;
  const auto add = [&](auto number, const char* unit, const char* of = "") {
    if (number > 0) limits.push_back(absl::StrCat(number, " ", unit, number == 1 ? "" : "s", of));
  };
  add(train.max_epochs(), "epoch");
  add(train.max_windows(), "window");
  add(train.max_steps(), "step");
  add(train.max_seconds(), "second");
  add(train.max_steps_per_epoch(), "step", " per epoch");
  add(train.max_steps_per_window(), "step", " per window");
  add(train.max_windows_per_epoch(), "window", " per epoch");
  return limits.empty() ? "none" : absl::StrJoin(limits, ", ");
}

// Time for a failed rank to write its last files and to leave.
constexpr absl::Duration kLongestEnd = absl::Seconds(25);

class TrainCommand {
 public:
  // `additions`: of a program that outlives the run; null: the run is the whole process.
  TrainCommand(const ConfigFlags& flags, const RankListener& listener,
               const TrainAdditions* additions = nullptr)
      : flags_(flags),
        listener_(listener),
        additions_(additions),
        summary_file_(files_, flags.summary, flags.overwrite) {}

  absl::StatusOr<int> run() {
    absl::Status status = train();
    // The other ranks have left or will soon; a hanging disk must not keep this one.
    if (additions_ == nullptr && ranks_.world_size > 1 && !status.ok()) {
      end_within(kLongestEnd, status);
    }
    if (!status.ok()) log_for_the_file(absl::StrCat("failed: ", status.message()));
    if (trainer_ != nullptr) std::cerr << out_of_memory_text(status, *trainer_) << std::flush;
    status.Update(write_summaries(status));
    const absl::StatusOr<int> outcome = status.ok() ? absl::StatusOr<int>(code()) : status;
    if (data_.gave_up()) end_process(outcome);
    end_if_data_hangs(trainer_.get(), outcome);
    return outcome;
  }

  // Returns the summary of run() as JSON.
  std::string json() const { return summary_json(summary_, &data_); }

 private:
  int code() const { return summary_.stopped_by_rank ? kExitRunAgain : kExitFinished; }

  absl::Status train() {
    ASSIGN_OR_RETURN(ranks_, read_rank_environment());
    if (is_first()) RETURN_IF_ERROR(summary_file_.check());
    RETURN_IF_ERROR(check_config_file(files_, flags_.config, ranks_.world_size));
    ASSIGN_OR_RETURN(CheckedJob job, load_job(files_, flags_, ranks_.world_size));
    config_ = job.config();
    SavedDataRules rules = read_saved_data_rules(files_, resumed_path(config_.run()));
    keep_split_rule(rules, is_first(), config_.mutable_train());
    job.set_split_rule(config_.train().split_rule());
    if (additions_ == nullptr && config_.run().signal_stop().enabled()) signal_exit_.emplace();
    log_beginning();
    // Before the ranks meet and data and checkpoint are read, all of which may take long. An
    // occupied port is reported by build_trainer(), to the other ranks too.
    listening_ = listen_early(config_, sink_rank(), [this] { return health(); });
    JobResources resources;
    resources.listening = &listening_;
    resources.activity = &activity_;
    resources.time_types = std::move(rules.time_types);
    ASSIGN_OR_RETURN(resources.cuda_device, device_of_rank(flags_.device, cuda_devices, ranks_));
    ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives,
                     join_ranks(ranks_, config_, listener_, resources.cuda_device, &activity_));
    RETURN_IF_ERROR(on_rank_0(*collectives, [this] { return check_outputs(); }));
    RETURN_IF_ERROR(on_rank_0(*collectives, [this] { return make_data(); }));
    resources.local_world_size = ranks_.local_world_size;
    resources.local_rank = ranks_.local_rank;
    status_.emplace(files_, Clock::real(), activity_,
                    StatusFileOptions{.directory = config_.run().output_dir(),
                                      .world_size = ranks_.world_size,
                                      .limits = config_.run().health(),
                                      .token = token_});
    resources.status = &*status_;
    resources.token = token_;
    resources.log = &std::cerr;
    resources.terminal = ::isatty(STDERR_FILENO) == 1;
    resources.colors = has_colors(STDERR_FILENO);
    resources.columns = [] { return terminal_columns(STDERR_FILENO); };
    resources.data = &data_;
    Collectives& others = *collectives;  // the trainer's from here on
    absl::StatusOr<std::unique_ptr<Trainer>> built =
        build_trainer(job, resources, std::move(collectives));
    RETURN_IF_ERROR(name_file_of_parts(built.status(), flags_.config));
    trainer_ = *std::move(built);
    Trainer* const trainer = trainer_.get();
    if (additions_ != nullptr && additions_->add_hooks) {
      const absl::Status added = additions_->add_hooks(*trainer, ranks_);
      if (!added.ok()) others.fail(added);
      RETURN_IF_ERROR(added);
    }
    if (is_first()) {
      log_model(*trainer);
      log_hooks(*trainer, resources.terminal);
    }
    absl::StatusOr<Resumption> resumption = resume_training(config_, files_, *trainer, is_first());
    if (!resumption.ok()) {
      others.fail(resumption.status());  // so that they do not wait
      return resumption.status();
    }
    // A resumed directory belongs to this run from now on: the run has the lock, if it saves.
    const bool resumes_here =
        resumption->from.has_value() && is_in_output_dir(resumption->from->path);
    if (resumption->finished.has_value()) {
      report_finished(*resumption->from, *resumption->finished, resumes_here);
      return absl::OkStatus();
    }
    if (resumes_here) {
      const absl::Status opened = open_run_log(files_, config_.run(), ranks_.rank);
      if (!opened.ok()) others.fail(opened);
      RETURN_IF_ERROR(opened);
      if (is_first()) status_->start();
    } else if (!resumption->from.has_value()) {
      log_for_the_file("beginning anew");
    }
    const absl::Status status = trainer->train().status();
    summary_ = trainer->summary();
    if (!config_.run().checkpoint().enabled()) summary_.checkpoint.clear();  // it is of another run
    // A resumed run may only have to evaluate and to save.
    started_ = summary_.steps_begun > 0 ||
               (resumption->from.has_value() && files_.info(config_.run().output_dir()).ok());
    RETURN_IF_ERROR(status);
    log_for_the_file(outcome_text());
    if (is_first() && lacks_best()) MILLRACE_LOG(WARNING) << kNoScore;
    if (is_first() && summary_.steps_begun == 0 && summary_.outcome == Outcome::kCompleted) {
      const std::string text = no_step_text(config_.train(), summary_.progress);
      log_for_the_file(text);
      std::cout << text << "\n";
    }
    if (started_ && is_first()) print_outcome();
    return absl::OkStatus();
  }

  SinkRank sink_rank() const {
    return {.rank = ranks_.rank,
            .world_size = ranks_.world_size,
            .local_rank = ranks_.local_rank,
            .local_world_size = ranks_.local_world_size};
  }

  // Called by the threads of HTTP servers.
  HealthReport health() const { return check_health(activity_.now(), config_.run().health()); }

  void log_model(Trainer& trainer) const {
    int64_t parameters = 0;
    size_t tables = 0;
    for (const NamedParameter& parameter : trainer.parameters()) {
      parameters += parameter.value.numel();
    }
    for (const EmbeddingCollection* collection : trainer.collections()) {
      tables += collection->tables().size();
    }
    MILLRACE_LOG(INFO) << "model " << config_.train().model().name() << ": " << parameters
                       << " dense parameters, " << tables << " tables";
    const at::Device device = trainer.model().device();
    const std::string on_device = device.is_cpu() ? "" : ", device: " + device.str();
    MILLRACE_LOG(INFO) << "ranks: " << ranks_.world_size << ", threads: " << at::get_num_threads()
                       << on_device << ", limits: " << limits_text(config_.train())
                       << (data_.epoch_steps() > 0
                               ? absl::StrCat(", steps per epoch: about ", data_.epoch_steps())
                               : "");
  }

  // Logs the hooks, in a line too long for a terminal.
  static void log_hooks(const Trainer& trainer, bool terminal) {
    const std::string text = absl::StrCat("hooks: ", absl::StrJoin(trainer.hook_names(), ", "));
    if (terminal) return log_for_the_file(text);
    MILLRACE_LOG(INFO) << text;
  }

  void log_beginning() const {
    log_for_the_file(absl::StrCat("train of Millrace ", kVersion, ": process ", ::getpid(),
                                  ", rank ", ranks_.rank, " of ", ranks_.world_size,
                                  ", output_dir ", config_.run().output_dir(), ", configuration ",
                                  config_fingerprint(config_.train())));
  }

  bool is_in_output_dir(const std::string& checkpoint) const {
    return directory_of(checkpoint) == checkpoint_folder(config_.run());
  }

  // Reports a run without remaining steps. `here`: if true, the run belongs to the output
  // directory.
  void report_finished(const CheckpointInfo& checkpoint, const std::string& how, bool here) {
    summary_.outcome = how == "completed" ? Outcome::kCompleted : Outcome::kStopped;
    summary_.progress = checkpoint.progress;
    summary_.checkpoint = checkpoint.path;
    summary_.stop_reason = std::string(absl::StripPrefix(how, "stopped: "));
    if (summary_.outcome == Outcome::kCompleted) summary_.stop_reason.clear();
    summary_.best = trainer_->best();
    // A process that was killed after its last save left no summary.
    const std::string path = join_path(config_.run().output_dir(), "summary.json");
    started_ = here && absl::IsNotFound(files_.info(path).status());
    const std::string text = finished_text(config_.train(), checkpoint.progress, how);
    log_for_the_file(text);
    // A failure to log this line does not matter.
    if (here) open_run_log(files_, config_.run(), ranks_.rank).IgnoreError();
    if (!is_first()) return;
    std::cout << text << "\ncheckpoint: " << checkpoint.path << std::endl;
  }

  // Refuses outputs that would destroy data of the user.
  absl::Status check_outputs() {
    RETURN_IF_ERROR(summary_file_.check_inputs([this] {
      std::vector<RunInput> taken = run_inputs(files_, flags_.config, config_.train());
      for (RunInput& output : run_outputs(config_.run())) taken.push_back(std::move(output));
      return taken;
    }));
    RETURN_IF_ERROR(check_written_files(files_, flags_.config, config_));
    return check_run_directory(files_, config_.run().output_dir(), flags_.overwrite);
  }

  absl::Status make_data() {
    ASSIGN_OR_RETURN(const std::optional<GeneratedData> data,
                     make_generated_data(files_, config_.train(), flags_.overwrite));
    if (!data.has_value()) return absl::OkStatus();
    std::cerr << absl::StrFormat(
        "%s %d examples in %s\nthe best AUC anyone can reach on them is %.4f\n",
        data->made ? "generated" : "using", config_.train().generated_data().rows(),
        config_.train().generated_data().directory(), data->best_auc);
    return absl::OkStatus();
  }

  // Returns true if this rank writes common output.
  bool is_first() const { return ranks_.rank == 0; }

  // Recreates the marker of the output directory if it was removed together with the directory, and
  // no save has recreated it. Without the marker the next run in the directory would be refused.
  void mark_run_directory() {
    const std::string& directory = config_.run().output_dir();
    if (is_run_directory(files_, directory)) return;
    const auto lock = DirectoryLock::acquire(files_, directory, Clock::real(), token_);
    if (!lock.ok()) return;  // writing the summary reports the error
    MILLRACE_LOG(WARNING) << directory << " was removed while this run wrote there: it is made "
                          << "again, but what was in it is gone";
  }

  // Writes OUTPUT_DIR/summary.json, unless the directory belongs to another run by now.
  absl::Status write_run_summary(const std::string& json) {
    const std::string& directory = config_.run().output_dir();
    const absl::Status owner = check_owner(files_, directory, token_);
    if (absl::IsAborted(owner)) {
      MILLRACE_LOG(WARNING) << "summary.json is not written: " << owner.message();
      return absl::OkStatus();
    }
    mark_run_directory();
    return write_file_atomically(files_, join_path(directory, "summary.json"), json);
  }

  // Writes the requested summary, and OUTPUT_DIR/summary.json if the output directory exists.
  absl::Status write_summaries(const absl::Status& outcome) {
    if (!outcome.ok()) {
      summary_.outcome = Outcome::kFailed;
      summary_.error = std::string(outcome.message());
    }
    if (!is_first()) return absl::OkStatus();
    const std::string json = this->json();
    absl::Status status;
    if (started_) status.Update(write_run_summary(json));
    status.Update(summary_file_.write(json));
    return status;
  }

  std::string outcome_text() const {
    const bool stopped = summary_.outcome == Outcome::kStopped;
    return absl::StrFormat(
        "%s: %d steps, %d examples, %.1f s of training",
        stopped ? absl::StrCat("stopped (", summary_.stop_reason, ")") : std::string("completed"),
        summary_.progress.step, summary_.progress.examples,
        absl::ToDoubleSeconds(summary_.progress.elapsed));
  }

  // Returns true if a best score is configured, but no step of this run or of earlier runs had a
  // score.
  bool lacks_best() const {
    return config_.run().evaluation().has_best() && !summary_.best.has_value();
  }

  void print_outcome() const {
    std::cout << outcome_text() << "\n" << times_text(summary_.times);
    for (const auto& [set, metrics] : summary_.eval) {
      const int64_t step = summary_.eval_step.at(set);
      const std::string of_step =
          step == summary_.progress.step ? "" : absl::StrCat(" (of step ", step, ")");
      const auto unknown = summary_.unknown_shares.find(set);
      const std::string ending =
          unknown == summary_.unknown_shares.end() ? "" : unknown_ids_text(unknown->second);
      std::cout << metrics_text(absl::StrCat(set, of_step, ":"), metrics, ending,
                                line_columns(STDOUT_FILENO))
                << "\n";
    }
    if (summary_.best.has_value()) {
      std::cout << "best score: " << summary_.best->value << " (" << summary_.best->score
                << ") of step " << summary_.best->step
                << (summary_.best->checkpoint.empty() ? "" : " in ") << summary_.best->checkpoint
                << "\n";
    } else if (lacks_best()) {
      std::cout << "best score: none\n";
    }
    if (!summary_.checkpoint.empty()) {
      const bool resumes = summary_.stopped_by_rank && config_.run().resume() == "auto";
      std::cout << "checkpoint: " << summary_.checkpoint
                << (resumes ? "; the same command resumes from there\n" : "\n");
    }
    std::cout << std::flush;
  }

  const ConfigFlags& flags_;
  const RankListener& listener_;
  const TrainAdditions* const additions_;
  FileSystem& files_ = ObjectFiles::process();
  const std::string token_ = new_nonce();  // of this run, in the locks of its directories
  RankEnvironment ranks_;
  JobConfig config_;
  SummaryFile summary_file_;
  RankActivity activity_{Clock::real()};
  ListeningSinks listening_;          // read activity_ and config_; empty after build_trainer()
  std::optional<StatusFile> status_;  // reads activity_
  DataReport data_;
  Summary summary_;
  bool started_ = false;
  // None: signals have their usual effect. Outlives the trainer, whose destructor may take seconds.
  std::optional<SignalExit> signal_exit_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

absl::StatusOr<TrainOutcome> run_training(const ConfigFlags& flags,
                                          const TrainAdditions& additions) {
  const RankListener listener = nullptr;
  TrainCommand command(flags, listener, &additions);
  ASSIGN_OR_RETURN(const int exit_code, command.run());
  return TrainOutcome{.summary = command.json(), .exit_code = exit_code};
}

Command add_train_command(CLI::App& program, const RankListener& listener) {
  auto flags = std::make_shared<ConfigFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("train", "train a model");
  flags->uses_device = true;
  add_config_flags(*command, *flags);
  command->add_option(
      "--resume", flags->resume,
      "auto: from the newest checkpoint in the output directory; never; or the path "
      "of one");
  command->add_flag("--accept_changes", flags->accept_changes,
                    "resume also with other learning rates, schedules or batch sizes");
  auto dry = std::make_shared<DryRunFlags>();  // shared with the parser's callbacks
  CLI::Option* const dry_run_flag =
      command
          ->add_option("--dry_run", dry->steps,
                       "only try N steps and N batches of each evaluation set, print times and "
                       "memory, and write nothing")
          ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  command
      ->add_option(
          "--rows", dry->rows,
          "TABLE=NUMBER, such as items=1e8; with --dry_run: print the memory of a table of "
          "this size; repeatable")
      ->allow_extra_args(false)
      ->needs(dry_run_flag);
  return [flags, dry, listener] {
    return dry->steps > 0 ? dry_run(*flags, *dry, std::cout) : TrainCommand(*flags, listener).run();
  };
}

}  // namespace millrace
