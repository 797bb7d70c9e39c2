#include "framework/report/sink_check.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/net/http_url.h"
#include "base/status_macros.h"
#include "framework/report/directory_check.h"
#include "framework/report/sink.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr int64_t kMostPort = 65535;

absl::Status check_prometheus(const std::string& where, const PrometheusSinkConfig& config) {
  in_addr address;
  if (inet_pton(AF_INET, config.address().c_str(), &address) == 1) return absl::OkStatus();
  return wrong(where, absl::StrCat("address is \"", config.address(),
                                   "\"; it must be an IPv4 address, such as 127.0.0.1 or, for all "
                                   "interfaces, 0.0.0.0"));
}

// Checks an MLflow sink. Its directory may hold only files of Millrace, so that other files are not
// lost with the state of its run.
absl::Status check_mlflow(const std::string& where, const MlflowSinkConfig& config) {
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

absl::Status check_kind(const std::string& where, const SinkConfig& config) {
  switch (config.kind_case()) {
    case SinkConfig::kCustom:
      return annotate(sink_registry().check(config.custom().name()), where + ".custom");
    case SinkConfig::kCsv: return check_directory(where + ".csv", config.csv().directory());
    case SinkConfig::kTensorboard:
      return check_directory(where + ".tensorboard", config.tensorboard().directory());
    case SinkConfig::kPrometheus:
      return check_prometheus(where + ".prometheus", config.prometheus());
    case SinkConfig::kMlflow: return check_mlflow(where + ".mlflow", config.mlflow());
    case SinkConfig::KIND_NOT_SET: break;
  }
  return wrong(where, "says not which sink; give csv, tensorboard, prometheus, mlflow or custom");
}

absl::Status check_sink(const std::string& where, const SinkConfig& config) {
  return all_errors({check_ranges(where, config), check_kind(where, config)});
}

// Returns the directory of a sink; "" if the sink has none.
std::string directory_of(const SinkConfig& config) {
  switch (config.kind_case()) {
    case SinkConfig::kCsv: return config.csv().directory();
    case SinkConfig::kTensorboard: return config.tensorboard().directory();
    case SinkConfig::kMlflow: return config.mlflow().directory();
    default: return "";
  }
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
  uint32_t address;  // INADDR_ANY: all addresses of the machine
  int64_t first, last;

  bool overlap(const Ports& other) const {
    const bool same_address =
        address == other.address || address == INADDR_ANY || other.address == INADDR_ANY;
    return same_address && first <= other.last && other.first <= last;
  }
};

// Returns the ports of a sink in a job of `ranks` ranks; none if they are not fixed.
std::optional<Ports> ports_of(const SinkConfig& config, int ranks) {
  const PrometheusSinkConfig& prometheus = config.prometheus();
  in_addr address;
  if (!config.has_prometheus() || prometheus.port() == 0 ||
      inet_pton(AF_INET, prometheus.address().c_str(), &address) != 1) {
    return std::nullopt;
  }
  const int64_t first = prometheus.port();
  const int64_t last = config.ranks() == SinkConfig::ALL ? first + ranks - 1 : first;
  return Ports{address.s_addr, first, last};
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

}  // namespace

absl::Status check_sinks(const RunConfig& run) {
  FieldErrors errors;
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::string where = absl::StrCat("run.sink[", i, "]");
    errors.add(check_sink(where, run.sink(i)));
    if (run.sink(i).has_mlflow()) errors.add(check_run_directory(run, i));
    for (int k = 0; k < i; ++k) {
      const std::string directory = shared_directory(run.sink(k), run.sink(i));
      if (directory.empty() || run.sink(k).kind_case() != run.sink(i).kind_case()) continue;
      errors.add(wrong(where, absl::StrCat("run.sink[", k, "] writes to directory ", directory,
                                           " as well; give another one or remove a sink")));
    }
  }
  errors.add(check_sink_ports(run, 1));
  return errors.status();
}

bool has_default_tensorboard(const RunConfig& run) {
  const auto& sinks = run.sink();
  return run.report().tensorboard() &&
         std::none_of(sinks.begin(), sinks.end(),
                      [](const SinkConfig& sink) { return sink.has_tensorboard(); });
}

std::vector<std::string> sink_directories(const RunConfig& run) {
  std::vector<std::string> directories;
  for (const SinkConfig& sink : run.sink()) {
    const std::string directory = directory_of(sink);
    if (!directory.empty()) directories.push_back(directory);
  }
  if (has_default_tensorboard(run)) {
    directories.push_back(TensorBoardSinkConfig::default_instance().directory());
  }
  return directories;
}

absl::Status check_sink_ports(const RunConfig& run, int ranks) {
  FieldErrors errors;
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::optional<Ports> ports = ports_of(run.sink(i), ranks);
    if (!ports.has_value()) continue;
    const std::string where = absl::StrCat("run.sink[", i, "].prometheus");
    // check_ranges() reports a first port that is too large.
    if (ports->first <= kMostPort && ports->last > kMostPort) {
      errors.add(wrong(
          where, absl::StrCat("port is ", ports->first, ", so that ", ranks, " ranks need ",
                              to_text(*ports), "; it must be at most ", kMostPort - ranks + 1)));
    }
    for (int k = 0; k < i; ++k) {
      const std::optional<Ports> other = ports_of(run.sink(k), ranks);
      if (!other.has_value() || !ports->overlap(*other)) continue;
      errors.add(
          wrong(where, absl::StrCat("run.sink[", k, "] has ", to_text(*other), ", this sink ",
                                    to_text(*ports), "; give it other ports or another address")));
    }
  }
  return errors.status();
}

}  // namespace millrace
