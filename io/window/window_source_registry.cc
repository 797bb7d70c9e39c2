#include "io/window/window_source_registry.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "io/kafka/kafka_payload.h"
#include "io/window/directory_window_source.h"
#include "io/window/files_then_topic.h"
#include "io/window/kafka_window_source.h"
#include "io/window/list_window_source.h"
#include "io/window/manifest_window_source.h"
#include "io/window/time_window_source.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// A name in a directory.
absl::Status check_name(absl::string_view where, absl::string_view field, const std::string& name) {
  if (name.find('/') == std::string::npos) return absl::OkStatus();
  return wrong(where, absl::StrCat(field, " is \"", name, "\"; must be a name without /"));
}

absl::Status check_directory(absl::string_view where, const WindowsConfig& windows) {
  const DirectoryWindows& directory = windows.directory();
  if (directory.path().empty()) return wrong(where, "path is missing");
  if (directory.pattern().empty()) return wrong(where, "pattern is empty; * takes every name");
  RETURN_IF_ERROR(check_name(where, "pattern", directory.pattern()));
  RETURN_IF_ERROR(check_name(where, "done_suffix", directory.done_suffix()));
  return check_name(where, "end_marker", directory.end_marker());
}

absl::StatusOr<absl::Time> time_of(absl::string_view where, absl::string_view field,
                                   const std::string& text) {
  const absl::StatusOr<absl::Time> time = parse_window_time(text);
  if (time.ok()) return *time;
  return wrong(where, absl::StrCat(field, " is \"", text, "\"; ", time.status().message()));
}

absl::Status check_time(absl::string_view where, const WindowsConfig& windows) {
  const TimeWindows& time = windows.time();
  if (time.path().empty()) return wrong(where, "path is missing");
  if (time.pattern().empty()) return wrong(where, "pattern is empty; * takes every name");
  RETURN_IF_ERROR(check_name(where, "pattern", time.pattern()));
  RETURN_IF_ERROR(check_name(where, "marker", time.marker()));
  ASSIGN_OR_RETURN(const absl::Time start, time_of(where, "start", time.start()));
  const absl::Time next = start + absl::Seconds(time.step_seconds());
  const auto path_at = [&](absl::Time when) {
    return absl::FormatTime(time.path(), when, absl::UTCTimeZone());
  };
  // An unknown conversion would give a path that never exists, and the run would wait for it.
  for (size_t at = 0; (at = time.path().find('%', at)) != std::string::npos; at += 2) {
    constexpr absl::string_view kConversions = "aAbBcCdDeEFgGhHIjmMnOprRsStTuUVwWxXyYzZ%";
    if (at + 1 < time.path().size() && absl::StrContains(kConversions, time.path()[at + 1])) {
      continue;
    }
    return wrong(where, absl::StrCat("path has ", time.path().substr(at, 2),
                                     ", which stands for no part of a time"));
  }
  // Steps of equal paths would train on the same files repeatedly.
  if (path_at(start) == path_at(next)) {
    return wrong(where, absl::StrCat("path gives ", path_at(start),
                                     " for the first two steps; it needs %H and the like"));
  }
  if (time.end().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::Time end, time_of(where, "end", time.end()));
  if (end > start) return absl::OkStatus();
  return wrong(where, absl::StrCat("end is ", time.end(), ", not after start"));
}

absl::Status check_kafka_windows(absl::string_view where, const WindowsConfig& windows) {
  RETURN_IF_ERROR(check_kafka(where, windows.kafka()));
  if (!windows.kafka().has_start_time()) return absl::OkStatus();
  return time_of(where, "start_time", windows.kafka().start_time()).status();
}

absl::Status check_manifest(absl::string_view where, const WindowsConfig& windows) {
  return windows.manifest().path().empty() ? wrong(where, "path is missing") : absl::OkStatus();
}

// Returns true if files come before the topic.
bool has_history(const DataConfig& data) {
  return data.windows().kafka().has_start_offsets() && data.path_size() > 0;
}

absl::Status check_payload(absl::string_view where, const DataConfig& data) {
  if (!data.windows().has_kafka()) return absl::OkStatus();
  const KafkaWindows& kafka = data.windows().kafka();
  const std::string payload = kafka_payload_of(kafka, data).name();
  const bool is_text = payload == "csv", is_example = payload == "tf_example";
  const bool may_be_payload = data.format() == DataConfig::AUTO ||
                              data.format() == DataConfig::CSV ||
                              data.format() == DataConfig::TFRECORD;
  if (!has_history(data) && (data.has_custom_format() || !may_be_payload)) {
    return wrong(where, "format is of files; set kafka.payload, the format of records");
  }
  if (!kafka.has_payload() && (data.has_custom_format() || !may_be_payload)) {
    return wrong(where, "kafka.payload is missing; the format of the data is of files only");
  }
  RETURN_IF_ERROR(kafka_payload_registry().create(kafka_payload_of(kafka, data), data).status(),
                  absl::StrCat(where, ".kafka.payload"));
  if ((is_text || is_example) && kafka.rows_per_record() > 1) {
    return wrong(where, absl::StrCat("kafka.rows_per_record is ", kafka.rows_per_record(),
                                     ", but a record of ", payload, " is one row"));
  }
  return absl::OkStatus();
}

absl::Status check_size(absl::string_view where, const DataConfig& data) {
  const WindowsConfig& windows = data.windows();
  const bool has_size = windows.files() != 1 || windows.rows() != 0;
  if (has_size && windows.has_time()) {
    return wrong(where, "files and rows are given, but each step of time is a window");
  }
  if (has_size && windows.has_manifest()) {
    return wrong(where, "files and rows are given, but each manifest is a window");
  }
  if (has_size && windows.has_kafka() && !has_history(data)) {
    return wrong(where, "files and rows are given; for kafka set kafka.records");
  }
  if (has_size && windows.has_custom()) {
    return wrong(where, "files and rows are given, but the source says what a window is");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<WindowSource>> make_kafka(const WindowsConfig& windows,
                                                         const WindowSourceInput& input) {
  ASSIGN_OR_RETURN(std::unique_ptr<KafkaWindowSource> topic,
                   KafkaWindowSource::create(*input.files, windows.kafka()));
  if (!has_history(input.data)) return topic;
  const auto make_files = [input] {
    return ListWindowSource::create(*input.files, input.data, input.count_rows);
  };
  return std::make_unique<FilesThenTopic>(make_files, std::move(topic));
}

std::vector<WindowSourceRegistry::Kind> window_source_kinds() {
  return {
      {WindowsConfig::kList,
       [](const auto&, const auto& input, int64_t) {
         return ListWindowSource::create(*input.files, input.data, input.count_rows);
       }},
      {WindowsConfig::kDirectory,
       [](const auto& windows, const auto& input, int64_t taken_names) {
         return std::make_unique<DirectoryWindowSource>(*input.files, windows, input.count_rows,
                                                        taken_names);
       },
       &check_directory},
      {WindowsConfig::kTime,
       [](const auto& windows, const auto& input, int64_t) {
         return std::make_unique<TimeWindowSource>(*input.files, windows.time());
       },
       &check_time},
      {WindowsConfig::kKafka,
       [](const auto& windows, const auto& input, int64_t) { return make_kafka(windows, input); },
       &check_kafka_windows},
      {WindowsConfig::kManifest,
       [](const auto& windows, const auto& input, int64_t) {
         return std::make_unique<ManifestWindowSource>(*input.files, windows.manifest());
       },
       &check_manifest},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(window_source, WindowSourceRegistry, "window source",
                     "windows { custom { name: \"NAME\" } }", "source", window_source_kinds(),
                     WindowsConfig::kList);

absl::Status check_windows(absl::string_view where, const DataConfig& data) {
  const WindowsConfig& windows = data.windows();
  RETURN_IF_ERROR(check_ranges(where, windows));
  RETURN_IF_ERROR(check_size(where, data));
  RETURN_IF_ERROR(check_payload(where, data));
  RETURN_IF_ERROR(window_source_registry().check(where, windows));
  // The source of a registered part may use the paths.
  if (finds_own_files(windows) && data.path_size() > 0 && !has_history(data)) {
    return wrong(where, windows.has_kafka()
                            ? "the data has a path, but kafka says where it is; files before the "
                              "topic need kafka.start_offsets"
                            : "the data has a path, but the windows say where it is");
  }
  return absl::OkStatus();
}

}  // namespace millrace
