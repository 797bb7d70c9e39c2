#include "sinks/configured_sinks.h"

#include <arpa/inet.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/http/http_url.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/report/directory_check.h"
#include "framework/report/report_rows.h"
#include "proto/config_reader.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/parts/kind_registry.h"
#include "proto/range_check.h"
#include "sinks/config_values.h"
#include "sinks/csv/csv_sink.h"
#include "sinks/mlflow/config_params.h"
#include "sinks/mlflow/mlflow_sink.h"
#include "sinks/prometheus/prometheus_sink.h"
#include "sinks/tensorboard/tensorboard_sink.h"

namespace millrace {
namespace {

using MadeSink = absl::StatusOr<std::unique_ptr<Sink>>;

// The arguments of built-in kinds, besides their configuration.
struct SinkOwner {
  const JobConfig& job;
  const SinkRank& rank;
  const HealthCheck& health;  // empty: none
};

using SinkKinds = PartKinds<SinkConfig, SinkFactory, KindCheck<SinkConfig>, const SinkOwner&>;

// TensorBoard shows a column for each.
constexpr size_t kMostHyperParameters = 100;
constexpr int64_t kMostPort = 65535;

// The bytes of an address. An IPv4 address has zeros at the end.
struct IpAddress {
  int family;  // AF_INET or AF_INET6
  std::array<unsigned char, sizeof(in6_addr)> bytes = {};

  // Returns true if a socket on this address receives connections to all addresses of a family. An
  // IPv6 socket receives those of IPv4 as well.
  bool is_any_of(int other_family) const {
    return bytes == decltype(bytes)() && (family == other_family || family == AF_INET6);
  }
};

std::optional<IpAddress> parse_address(const std::string& text) {
  for (const int family : {AF_INET, AF_INET6}) {
    IpAddress address{.family = family};
    if (inet_pton(family, text.c_str(), address.bytes.data()) == 1) return address;
  }
  return std::nullopt;
}

bool is_on_all_ranks(const SinkConfig& config) { return config.ranks() == SinkConfig::ALL; }

// Returns the path of `directory`, a directory of the sink.
std::string directory_path(const SinkConfig& config, const std::string& directory,
                           const SinkInput& input) {
  const std::string path = join_path(input.output_dir, directory);
  return is_on_all_ranks(config) ? join_path(path, absl::StrCat("rank-", input.rank)) : path;
}

absl::Status check_csv_sink(absl::string_view where, const SinkConfig& config) {
  return check_directory(where, config.csv().directory());
}

MadeSink create_csv_sink(const SinkConfig& config, const SinkInput& input, const SinkOwner&) {
  return std::make_unique<CsvSink>(*input.files,
                                   directory_path(config, config.csv().directory(), input));
}

absl::Status check_tensorboard(absl::string_view where, const SinkConfig& config) {
  return check_directory(where, config.tensorboard().directory());
}

MadeSink create_tensorboard(const SinkConfig& config, const SinkInput& input,
                            const SinkOwner& owner) {
  TensorBoardSinkOptions options{
      .directory = directory_path(config, config.tensorboard().directory(), input),
      .configuration = to_text(owner.job),
      .hyper_parameters = config_values(owner.job, kMostHyperParameters),
      .histograms = config.tensorboard().histograms(),
      .rank = input.rank};
  return std::make_unique<TensorBoardSink>(*input.files, Clock::real(), std::move(options));
}

absl::Status check_prometheus(absl::string_view where, const SinkConfig& config) {
  const std::string& text = config.prometheus().address();
  if (parse_address(text).has_value()) return absl::OkStatus();
  return wrong(where, absl::StrCat("address is \"", text,
                                   "\"; it must be an IP address, such as 127.0.0.1 or ::1 or, for "
                                   "all interfaces, 0.0.0.0 or ::"));
}

MadeSink create_prometheus(const SinkConfig& config, const SinkInput&, const SinkOwner& owner) {
  const std::string& address = config.prometheus().address();
  const int first = config.prometheus().port();
  const int number =
      config.prometheus().port_by_local_rank() ? owner.rank.local_rank : owner.rank.rank;
  const int port = first == 0 || !is_on_all_ranks(config) ? first : first + number;
  ASSIGN_OR_RETURN(std::unique_ptr<PrometheusSink> sink,
                   PrometheusSink::create(address, port, Clock::real(), owner.health));
  MILLRACE_LOG(INFO) << "metrics for Prometheus: http://" << host_and_port(address, sink->port())
                     << "/metrics";
  return sink;
}

// Checks an MLflow sink. Its directory may hold only files of Millrace, so that other files are not
// lost with the state of its run.
absl::Status check_mlflow(absl::string_view where, const SinkConfig& sink) {
  const MlflowSinkConfig& config = sink.mlflow();
  FieldErrors errors;
  if (config.tracking_uri().empty()) {
    errors.add(wrong(where,
                     "tracking_uri is missing; give the address of the tracking server, such as "
                     "http://127.0.0.1:5000"));
  } else if (const auto url = parse_http_url(config.tracking_uri()); !url.ok()) {
    errors.add(wrong(where, absl::StrCat("tracking_uri ", url.status().message())));
  }
  if (config.experiment().empty()) {
    errors.add(wrong(where, "experiment is \"\"; give the name of an experiment"));
  }
  errors.add(check_directory(where, config.directory()));
  for (const char* own : {"metrics", "tensorboard"}) {
    if (config.directory() != own) continue;
    errors.add(wrong(where, absl::StrCat("directory is \"", own,
                                         "\", which has other files of Millrace; give another "
                                         "one")));
  }
  return errors.status();
}

// Returns the maximum wait of an MLflow sink for its server. Other ranks wait for this rank and
// end the job after their time-out, so all sinks together take at most a quarter of the time-out.
absl::Duration most_wait(const RunConfig& run, int ranks) {
  if (ranks == 1) return absl::InfiniteDuration();
  return absl::Seconds(run.distributed().collective_timeout_seconds()) / 4 /
         std::count_if(run.sink().begin(), run.sink().end(),
                       [](const SinkConfig& sink) { return sink.has_mlflow(); });
}

// Returns the directory of the hook metric_report; "" on a rank without the hook's files.
std::string rows_directory(const RunConfig& run, const SinkInput& input) {
  const bool has_rows = input.rank == 0 && run.report().jsonl();
  return has_rows ? join_path(input.output_dir, kRowsDirectory) : "";
}

MadeSink create_mlflow(const SinkConfig& sink, const SinkInput& input, const SinkOwner& owner) {
  const JobConfig& job = owner.job;
  const MlflowSinkConfig& config = sink.mlflow();
  const std::string name =
      config.run_name().empty() ? base_name(absolute_path(input.output_dir)) : config.run_name();
  MlflowSinkOptions options{
      .tracking_uri = config.tracking_uri(),
      .experiment = config.experiment(),
      .run_name = is_on_all_ranks(sink) ? absl::StrCat(name, "-rank-", input.rank) : name,
      .directory = directory_path(sink, config.directory(), input),
      .rows_directory = rows_directory(job.run(), input),
      .timeout = absl::Seconds(config.timeout_seconds()),
      .most_wait = most_wait(job.run(), owner.rank.world_size),
      .params = config_params(job, kMostMlflowParams)};
  return MlflowSink::create(*input.files, Clock::real(), std::move(options));
}

const SinkKinds& sink_kinds() {
  static const auto* const kinds =
      new SinkKinds(sink_registry(), "kind",
                    {{SinkConfig::kCsv, &create_csv_sink, &check_csv_sink},
                     {SinkConfig::kTensorboard, &create_tensorboard, &check_tensorboard},
                     {SinkConfig::kPrometheus, &create_prometheus, &check_prometheus},
                     {SinkConfig::kMlflow, &create_mlflow, &check_mlflow}});
  return *kinds;
}

absl::Status check_kind_of_sink(const std::string& where, const SinkConfig& config) {
  if (!sink_kinds().kind(config).empty()) return sink_kinds().check(where, config);
  return wrong(where, absl::StrCat("says not which sink; give ",
                                   absl::StrJoin(sink_kinds().kinds(), ", "), " or custom"));
}

// Returns the directory of a sink, the field of this name of its kind; "" if it has none.
std::string directory_of(const SinkConfig& config) {
  const std::string kind(sink_kinds().kind(config));
  if (kind.empty()) return "";
  const google::protobuf::Message& message =
      config.GetReflection()->GetMessage(config, SinkConfig::descriptor()->FindFieldByName(kind));
  const auto* const field = message.GetDescriptor()->FindFieldByName("directory");
  return field == nullptr ? "" : message.GetReflection()->GetString(message, field);
}

// Returns true if the sink writes to `directory`, also if `directory` belongs to one rank.
bool writes_to(const SinkConfig& config, absl::string_view directory) {
  const std::string own = directory_of(config);
  if (directory == own) return true;
  if (config.ranks() != SinkConfig::ALL ||
      !absl::ConsumePrefix(&directory, absl::StrCat(own, "/rank-"))) {
    return false;
  }
  int rank = 0;
  return absl::SimpleAtoi(directory, &rank) && rank >= 0 && absl::StrCat(rank) == directory;
}

// Returns a directory that both sinks write to; "" if none exists.
std::string shared_directory(const SinkConfig& one, const SinkConfig& other) {
  const std::string first = directory_of(one), second = directory_of(other);
  if (first.empty() || second.empty()) return "";
  if (writes_to(one, second)) return second;
  return writes_to(other, first) ? first : "";
}

// The ports of a Prometheus sink on one address.
struct Ports {
  IpAddress address;
  int64_t first, last;

  bool overlap(const Ports& other) const {
    const bool equal =
        address.family == other.address.family && address.bytes == other.address.bytes;
    const bool same_address =
        equal || address.is_any_of(other.address.family) || other.address.is_any_of(address.family);
    return same_address && first <= other.last && other.first <= last;
  }
};

// Returns the ports that a sink needs on a machine; none if they are not fixed.
std::optional<Ports> ports_of(const SinkConfig& config, const SinkRank& rank) {
  const PrometheusSinkConfig& prometheus = config.prometheus();
  const std::optional<IpAddress> address = parse_address(prometheus.address());
  if (!config.has_prometheus() || prometheus.port() == 0 || !address.has_value()) {
    return std::nullopt;
  }
  const int64_t first = prometheus.port();
  const int ranks = prometheus.port_by_local_rank() ? rank.local_world_size : rank.world_size;
  return Ports{*address, first, is_on_all_ranks(config) ? first + ranks - 1 : first};
}

std::string to_text(const Ports& ports) {
  return ports.first == ports.last ? absl::StrCat("port ", ports.first)
                                   : absl::StrCat("ports ", ports.first, " to ", ports.last);
}

// Checks that sinks of other kinds do not write to the directory of an MLflow sink.
absl::Status check_run_directory(const RunConfig& run, int mlflow) {
  FieldErrors errors;
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::string directory = shared_directory(run.sink(i), run.sink(mlflow));
    if (run.sink(i).has_mlflow() || directory.empty()) continue;
    errors.add(wrong(absl::StrCat("run.sink[", i, "]"),
                     absl::StrCat("run.sink[", mlflow, "] keeps its run in directory ", directory,
                                  "; give another one")));
  }
  return errors.status();
}

// Returns run.sink and, if run.report.tensorboard is true and run.sink has none, a TensorBoard
// sink.
std::vector<SinkConfig> sinks_of(const RunConfig& run) {
  std::vector<SinkConfig> sinks(run.sink().begin(), run.sink().end());
  const bool has_one = std::any_of(sinks.begin(), sinks.end(),
                                   [](const SinkConfig& sink) { return sink.has_tensorboard(); });
  if (run.report().tensorboard() && !has_one) sinks.emplace_back().mutable_tensorboard();
  return sinks;
}

}  // namespace

absl::Status check_sinks(const RunConfig& run) {
  FieldErrors errors;
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::string where = absl::StrCat("run.sink[", i, "]");
    errors.add(check_ranges(where, run.sink(i)));
    errors.add(check_kind_of_sink(where, run.sink(i)));
    if (run.sink(i).has_mlflow()) errors.add(check_run_directory(run, i));
    for (int k = 0; k < i; ++k) {
      const std::string directory = shared_directory(run.sink(k), run.sink(i));
      if (directory.empty() || run.sink(k).kind_case() != run.sink(i).kind_case()) continue;
      errors.add(wrong(where, absl::StrCat("run.sink[", k, "] writes to directory ", directory,
                                           " as well; give another one or remove a sink")));
    }
  }
  errors.add(check_sink_ports(run, SinkRank()));
  return errors.status();
}

absl::Status check_sink_ports(const RunConfig& run, const SinkRank& rank) {
  FieldErrors errors;
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::optional<Ports> ports = ports_of(run.sink(i), rank);
    if (!ports.has_value()) continue;
    const std::string where = absl::StrCat("run.sink[", i, "].prometheus");
    // check_ranges() reports a first port that is too large.
    if (ports->first <= kMostPort && ports->last > kMostPort) {
      const int64_t ranks = ports->last - ports->first + 1;
      errors.add(wrong(
          where, absl::StrCat("port is ", ports->first, ", so that ", ranks, " ranks need ",
                              to_text(*ports), "; it must be at most ", kMostPort - ranks + 1)));
    }
    for (int k = 0; k < i; ++k) {
      const std::optional<Ports> other = ports_of(run.sink(k), rank);
      if (!other.has_value() || !ports->overlap(*other)) continue;
      errors.add(
          wrong(where, absl::StrCat("run.sink[", k, "] has ", to_text(*other), ", this sink ",
                                    to_text(*ports), "; give it other ports or another address")));
    }
  }
  return errors.status();
}

std::vector<std::string> sink_directories(const RunConfig& run) {
  std::vector<std::string> directories;
  for (const SinkConfig& sink : sinks_of(run)) {
    const std::string directory = directory_of(sink);
    if (!directory.empty()) directories.push_back(directory);
  }
  return directories;
}

ListeningSinks listen_early(const JobConfig& config, const SinkRank& rank,
                            const HealthCheck& health) {
  ListeningSinks sinks;
  for (int i = 0; i < config.run().sink_size(); ++i) {
    const SinkConfig& sink = config.run().sink(i);
    if (!sink.has_prometheus() || (rank.rank != 0 && !is_on_all_ranks(sink))) continue;
    sinks.emplace(i, create_prometheus(sink, SinkInput(), {config, rank, health}));
  }
  return sinks;
}

absl::StatusOr<std::vector<NamedSink>> make_sinks(const JobConfig& config, FileSystem& files,
                                                  const SinkRank& rank, ListeningSinks listening) {
  RETURN_IF_ERROR(check_sink_ports(config.run(), rank));
  const SinkInput input{&files, config.run().output_dir(), rank.rank};
  const HealthCheck no_health;
  // sinks_of() keeps the places of run.sink.
  const std::vector<SinkConfig> configs = sinks_of(config.run());
  std::vector<NamedSink> sinks;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (rank.rank != 0 && !is_on_all_ranks(configs[i])) continue;
    const auto early = listening.find(static_cast<int>(i));
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> sink,
                     early != listening.end()
                         ? std::move(early->second)
                         : sink_kinds().create(configs[i], input, {config, rank, no_health}),
                     absl::StrCat("run.sink[", i, "]"));
    const absl::string_view name =
        configs[i].has_custom() ? configs[i].custom().name() : sink_kinds().kind(configs[i]);
    sinks.push_back({std::string(name), std::move(sink)});
  }
  return sinks;
}

}  // namespace millrace
