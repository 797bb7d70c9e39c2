#include "sinks/configured_sinks.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/report/sink.h"
#include "framework/report/sink_check.h"
#include "proto/config_reader.h"
#include "sinks/config_values.h"
#include "sinks/csv/csv_sink.h"
#include "sinks/mlflow/config_params.h"
#include "sinks/mlflow/mlflow_sink.h"
#include "sinks/prometheus/prometheus_sink.h"
#include "sinks/tensorboard/tensorboard_sink.h"

namespace millrace {
namespace {

// TensorBoard shows a column for each.
constexpr size_t kMostHyperParameters = 100;

// Makes the sinks of one rank.
class Factory {
 public:
  Factory(const JobConfig& config, FileSystem& files, int rank, int ranks)
      : config_(config), files_(files), rank_(rank), ranks_(ranks) {}

  absl::StatusOr<NamedSink> make(const SinkConfig& sink) const {
    const bool all = sink.ranks() == SinkConfig::ALL;
    switch (sink.kind_case()) {
      case SinkConfig::kCsv:
        return NamedSink{"csv",
                         std::make_unique<CsvSink>(files_, directory(sink.csv().directory(), all))};
      case SinkConfig::kTensorboard: return tensorboard(sink.tensorboard(), all);
      case SinkConfig::kPrometheus: return prometheus(sink.prometheus(), all);
      case SinkConfig::kMlflow: return mlflow(sink.mlflow(), all);
      default: break;
    }
    const SinkInput input{&files_, config_.run().output_dir(), rank_};
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> made, sink_registry().create(sink.custom(), input));
    return NamedSink{sink.custom().name(), std::move(made)};
  }

  NamedSink tensorboard(const TensorBoardSinkConfig& sink, bool all) const {
    TensorBoardSinkOptions options{.directory = directory(sink.directory(), all),
                                   .configuration = to_text(config_),
                                   .hyper_parameters = config_values(config_, kMostHyperParameters),
                                   .histograms = sink.histograms(),
                                   .rank = rank_};
    return {"tensorboard",
            std::make_unique<TensorBoardSink>(files_, Clock::real(), std::move(options))};
  }

 private:
  std::string directory(const std::string& below, bool all) const {
    const std::string directory = join_path(config_.run().output_dir(), below);
    return all ? join_path(directory, absl::StrCat("rank-", rank_)) : directory;
  }

  absl::StatusOr<NamedSink> prometheus(const PrometheusSinkConfig& config, bool all) const {
    const int port = config.port() == 0 || !all ? config.port() : config.port() + rank_;
    ASSIGN_OR_RETURN(std::unique_ptr<PrometheusSink> sink,
                     PrometheusSink::create(config.address(), port, Clock::real()));
    MILLRACE_LOG(INFO) << "metrics for Prometheus: http://" << config.address() << ":"
                       << sink->port() << "/metrics";
    return NamedSink{"prometheus", std::move(sink)};
  }

  // Returns the maximum wait of an MLflow sink for its server. Other ranks wait for this rank and
  // end the job after their time-out, so all sinks together take at most a quarter of the time-out.
  absl::Duration most_wait() const {
    const auto& sinks = config_.run().sink();
    if (ranks_ == 1) return absl::InfiniteDuration();
    return absl::Seconds(config_.run().distributed().collective_timeout_seconds()) / 4 /
           std::count_if(sinks.begin(), sinks.end(),
                         [](const SinkConfig& sink) { return sink.has_mlflow(); });
  }

  // Returns the directory of the hook metric_report; "" on a rank without the hook's files.
  std::string rows_directory() const {
    const bool has_rows = rank_ == 0 && config_.run().report().jsonl();
    return has_rows ? join_path(config_.run().output_dir(), "metrics") : "";
  }

  absl::StatusOr<NamedSink> mlflow(const MlflowSinkConfig& config, bool all) const {
    const std::string name = config.run_name().empty()
                                 ? base_name(absolute_path(config_.run().output_dir()))
                                 : config.run_name();
    MlflowSinkOptions options{.tracking_uri = config.tracking_uri(),
                              .experiment = config.experiment(),
                              .run_name = all ? absl::StrCat(name, "-rank-", rank_) : name,
                              .directory = directory(config.directory(), all),
                              .rows_directory = rows_directory(),
                              .timeout = absl::Seconds(config.timeout_seconds()),
                              .most_wait = most_wait(),
                              .params = config_params(config_, kMostMlflowParams)};
    ASSIGN_OR_RETURN(std::unique_ptr<MlflowSink> sink,
                     MlflowSink::create(files_, Clock::real(), std::move(options)));
    return NamedSink{"mlflow", std::move(sink)};
  }

  const JobConfig& config_;
  FileSystem& files_;
  const int rank_;
  const int ranks_;
};

}  // namespace

absl::StatusOr<std::vector<NamedSink>> make_sinks(const JobConfig& config, FileSystem& files,
                                                  int rank, int ranks) {
  RETURN_IF_ERROR(check_sink_ports(config.run(), ranks));
  const Factory factory(config, files, rank, ranks);
  const auto& configs = config.run().sink();
  std::vector<NamedSink> sinks;
  for (int i = 0; i < configs.size(); ++i) {
    if (rank != 0 && configs[i].ranks() != SinkConfig::ALL) continue;
    ASSIGN_OR_RETURN(NamedSink sink, factory.make(configs[i]), absl::StrCat("run.sink[", i, "]"));
    sinks.push_back(std::move(sink));
  }
  if (rank == 0 && has_default_tensorboard(config.run())) {
    sinks.push_back(factory.tensorboard(TensorBoardSinkConfig::default_instance(), false));
  }
  return sinks;
}

}  // namespace millrace
