#include "job/default_hooks.h"

#include <utility>

#include "absl/time/time.h"
#include "framework/report/report_rows.h"
#include "hook/cadence.h"
#include "hook/hook_registry.h"
#include "hooks/cadence_hooks.h"
#include "hooks/logger_hook.h"
#include "hooks/metric_report_hook.h"
#include "hooks/non_finite_guard_hook.h"
#include "hooks/signal_stop_hook.h"
#include "hooks/window_gate_hook.h"
#include "hooks/window_io_hook.h"
#include "io/feature_schema.h"
#include "job/job_checkpoints.h"
#include "job/output_hook.h"
#include "job/report/report_options.h"
#include "proto/data_windows.h"

namespace millrace {
namespace {

using HookPointer = std::unique_ptr<Hook>;

HookPointer make_output(const DefaultHookParts& parts) {
  return std::make_unique<OutputHook>(parts.files, parts.config, parts.event_log, parts.activity,
                                      parts.status);
}

HookPointer make_logger(const DefaultHookParts& parts) {
  const LogConfig::Style style = parts.config.run().log().style();
  if (parts.log == nullptr || style == LogConfig::OFF) return nullptr;
  const TrainConfig& train = parts.config.train();
  LoggerOptions options;
  options.progress_line =
      style == LogConfig::PROGRESS || (style == LogConfig::AUTO && parts.terminal);
  options.columns = parts.columns;
  options.colors = parts.colors;
  const auto& metrics = parts.config.run().log().metric();
  options.metrics = {metrics.begin(), metrics.end()};
  options.more_metrics = {train.metric().begin(), train.metric().end()};
  options.max_steps = train.max_steps();
  options.max_epochs = train.max_epochs();
  options.max_elapsed = absl::Seconds(train.max_seconds());
  options.epoch_steps = parts.epoch_steps;
  return std::make_unique<LoggerHook>(options, *parts.log, parts.clock);
}

HookPointer make_metric_report(const DefaultHookParts& parts) {
  const RunConfig& run = parts.config.run();
  if (!run.report().jsonl()) return nullptr;
  return std::make_unique<MetricReportHook>(
      parts.files, join_path(run.output_dir(), kRowsDirectory), parts.clock);
}

HookPointer make_sinks(const DefaultHookParts& parts) {
  if (parts.sinks == nullptr || parts.sinks->empty()) return nullptr;
  return std::make_unique<SinksHook>(std::move(*parts.sinks));
}

HookPointer make_evaluation(const DefaultHookParts& parts) {
  const EvaluationConfig& evaluation = parts.config.run().evaluation();
  if (!evaluation.enabled() || !parts.has_evaluation_sets) return nullptr;
  if (evaluation.set().empty()) {
    return std::make_unique<EvaluationHook>(evaluation_cadence(evaluation, ""));
  }
  std::vector<SetCadence> sets;
  for (const EvaluationSetConfig& set : parts.config.train().eval_data()) {
    // Only the trainer evaluates windows.
    if (set.data().has_windows()) continue;
    sets.push_back({set.name(), evaluation_cadence(evaluation, set.name())});
  }
  return std::make_unique<EvaluationHook>(std::move(sets));
}

HookPointer make_checkpoint_save(const DefaultHookParts& parts) {
  const CheckpointConfig& checkpoint = parts.config.run().checkpoint();
  if (!checkpoint.enabled()) return nullptr;
  return std::make_unique<CheckpointSaveHook>(checkpoint_cadence(checkpoint));
}

HookPointer make_checkpoint_load(const DefaultHookParts& parts) {
  if (!parts.has_dynamic_sources) return nullptr;
  const ModelBankConfig& bank = parts.config.train().model_bank();
  return std::make_unique<CheckpointLoadHook>(Cadence::from_config_or(
      bank.has_reload(), bank.reload(), CheckpointLoadHook::kDefaultCadence));
}

// Returns the directories in which windows appear.
std::vector<std::string> directories_of(const DataConfig& data) {
  std::vector<std::string> directories;
  const auto add = [&](const WindowsConfig& windows) {
    if (windows.has_directory()) directories.push_back(windows.directory().path());
  };
  add(data.windows());
  for (const MixSourceConfig& source : data.mix().source()) add(source.data().windows());
  return directories;
}

WindowIoOptions window_io_options(const JobConfig& config, FileSystem& files) {
  const WindowIoConfig& window_io = config.run().window_io();
  WindowIoOptions options;
  options.output_dir = config.run().output_dir();
  if (window_io.read_ahead()) {
    options.read_ahead = [&files](const std::string& path) {
      const auto file = files.open(path);
      if (file.ok()) (*file)->will_need(0, (*file)->size_bytes());
    };
  }
  if (is_list_of_windows(config.train().train_data())) options.epochs = config.train().max_epochs();
  options.move_done_to = window_io.move_done_to();
  options.move_damaged_to = window_io.move_damaged_to();
  options.roots = directories_of(config.train().train_data());
  options.oldest_windows = [folder = checkpoint_folder(config.run()), &files] {
    return oldest_window_count(files, folder);
  };
  return options;
}

HookPointer make_window_io(const DefaultHookParts& parts) {
  if (parts.train_windows == nullptr || !parts.config.run().window_io().enabled()) return nullptr;
  WindowIoOptions options = window_io_options(parts.config, parts.files);
  options.figures = parts.window_figures;
  return std::make_unique<WindowIoHook>(std::move(options), *parts.train_windows, parts.files,
                                        parts.clock);
}

HookPointer make_window_gate(const DefaultHookParts& parts) {
  if (parts.train_windows == nullptr || !has_limits(parts.config.run().window_gate())) {
    return nullptr;
  }
  WindowGateOptions options;
  options.config = parts.config.run().window_gate();
  options.schema = [train = parts.config.train()] { return FeatureSchema::create(train); };
  options.figures = parts.window_figures;
  return std::make_unique<WindowGateHook>(std::move(options), *parts.train_windows);
}

HookPointer make_signal_stop(const DefaultHookParts& parts) {
  if (!parts.config.run().signal_stop().enabled()) return nullptr;
  return std::make_unique<SignalStopHook>();
}

HookPointer make_non_finite_guard(const DefaultHookParts& parts) {
  const NonFiniteConfig& non_finite = parts.config.train().non_finite();
  if (!non_finite.enabled()) return nullptr;
  return std::make_unique<NonFiniteGuardHook>(non_finite);
}

HookConfig::OnError logger_on_error(const JobConfig& config) {
  return config.run().log().on_error();
}

HookConfig::OnError metric_report_on_error(const JobConfig& config) {
  return config.run().report().on_error();
}

}  // namespace

OnError DefaultHook::on_error(const JobConfig& config) const {
  return configured == nullptr ? preference : on_error_or(configured(config), preference);
}

const std::vector<DefaultHook>& default_hooks() {
  static const auto* hooks = new std::vector<DefaultHook>{
      // Hooks are called in this order: the output directory must exist before other hooks write to
      // it.
      {"output", "makes the output directory just before the first step", "run.output_dir", "",
       nullptr, &make_output},
      {"logger", "lines for people: reports, evaluations, progress", "run.log", "run.log.style=OFF",
       LogConfig::descriptor(), &make_logger, OnError::kWarn, &logger_on_error},
      {"metric_report", "appends reports and evaluations to metrics/*.jsonl", "run.report",
       "run.report.jsonl=false", ReportConfig::descriptor(), &make_metric_report, OnError::kWarn,
       &metric_report_on_error},
      {SinksHook::kName, "passes reports and evaluations to sinks, if there are any", "run.sink",
       "", SinkConfig::descriptor(), &make_sinks, OnError::kWarn},
      {"evaluation", "asks for evaluations at a cadence, if there is evaluation data",
       "run.evaluation", "run.evaluation.enabled=false", EvaluationConfig::descriptor(),
       &make_evaluation},
      {"checkpoint_save", "asks for checkpoints at a cadence", "run.checkpoint",
       "run.checkpoint.enabled=false", CheckpointConfig::descriptor(), &make_checkpoint_save},
      {"checkpoint_load", "has dynamic sources of the model bank looked at again, if there are any",
       "train.model_bank.reload", "", CadenceConfig::descriptor(), &make_checkpoint_load},
      {"window_io",
       "reads the next window ahead, acknowledges and clears away finished ones, if the training "
       "data comes in windows",
       "run.window_io", "run.window_io.enabled=false", WindowIoConfig::descriptor(),
       &make_window_io},
      {"window_gate", "checks each new window before it is trained on, if limits are given",
       "run.window_gate", "", WindowGateConfig::descriptor(), &make_window_gate},
      {"signal_stop", "stops training on a signal such as SIGTERM, SIGINT or SIGHUP",
       "run.signal_stop", "run.signal_stop.enabled=false", SignalStopConfig::descriptor(),
       &make_signal_stop},
      {"non_finite_guard", "ends the run at refused steps, or after too many in a row",
       "train.non_finite", "train.non_finite.enabled=false", NonFiniteConfig::descriptor(),
       &make_non_finite_guard},
  };
  return *hooks;
}

}  // namespace millrace
