#include "framework/report/sink_check.h"

#include <arpa/inet.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "framework/report/sink.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

constexpr int64_t kMostPort = 65535;

absl::Status check_directory(const std::string& where, const std::string& directory) {
  const std::vector<std::string> parts = absl::StrSplit(directory, '/');
  for (const std::string& part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return wrong(where, absl::StrCat("directory is \"", directory,
                                     "\"; it must be a path below output_dir, such as \"metrics\", "
                                     "without \".\", \"..\" and double slashes"));
  }
  for (const char* own : {"checkpoints", "best", "logs"}) {
    if (parts[0] != own) continue;
    return wrong(where, absl::StrCat("directory is \"", directory, "\", which is below ", own,
                                     ", a directory of Millrace's own; give another one"));
  }
  return absl::OkStatus();
}

absl::Status check_prometheus(const std::string& where, const PrometheusSinkConfig& config) {
  in_addr address;
  if (inet_pton(AF_INET, config.address().c_str(), &address) != 1) {
    return wrong(where, absl::StrCat("address is \"", config.address(),
                                     "\"; it must be an IPv4 address, such as 127.0.0.1 or, for "
                                     "all interfaces, 0.0.0.0"));
  }
  return within(where, "port", config.port(), 0, kMostPort);
}

absl::Status check_sink(const std::string& where, const SinkConfig& config) {
  switch (config.kind_case()) {
    case SinkConfig::kCustom:
      return annotate(sink_registry().check(config.custom().name()), where + ".custom");
    case SinkConfig::kCsv: return check_directory(where + ".csv", config.csv().directory());
    case SinkConfig::kTensorboard:
      return check_directory(where + ".tensorboard", config.tensorboard().directory());
    case SinkConfig::kPrometheus:
      return check_prometheus(where + ".prometheus", config.prometheus());
    case SinkConfig::KIND_NOT_SET: break;
  }
  return wrong(where, "says not which sink; give csv, tensorboard, prometheus or custom");
}

// Returns where a sink writes; "" if nothing else can write there.
std::string place_of(const SinkConfig& config) {
  switch (config.kind_case()) {
    case SinkConfig::kCsv: return absl::StrCat("directory ", config.csv().directory());
    case SinkConfig::kTensorboard:
      return absl::StrCat("directory ", config.tensorboard().directory());
    case SinkConfig::kPrometheus:
      if (config.prometheus().port() == 0) return "";
      return absl::StrCat("port ", config.prometheus().port());
    default: return "";
  }
}

}  // namespace

absl::Status check_sinks(const RunConfig& run) {
  FieldErrors errors;
  std::map<std::string, std::string> places;  // kind and place → the sink that has it
  for (int i = 0; i < run.sink_size(); ++i) {
    const std::string where = absl::StrCat("run.sink[", i, "]");
    errors.add(check_sink(where, run.sink(i)));
    const std::string place = place_of(run.sink(i));
    if (place.empty()) continue;
    const auto [other, first] =
        places.try_emplace(absl::StrCat(run.sink(i).kind_case(), place), where);
    if (first) continue;
    errors.add(wrong(where, absl::StrCat(other->second, " writes to ", place,
                                         " as well; give another one or remove a sink")));
  }
  return errors.status();
}

}  // namespace millrace
