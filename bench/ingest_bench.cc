#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "bench/arrow_read.h"
#include "bench/benchmark.h"
#include "bench/cpu_time.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature/feature_transform.h"
#include "io/feature_schema.h"
#include "io/files/uri_file_system.h"
#include "job/checked_job.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

absl::StatusOr<TrainConfig> read_train_config(const BenchmarkFlags& flags) {
  if (flags.config.empty()) {
    return absl::InvalidArgumentError("this benchmark reads a job's data: give --config FILE");
  }
  const auto set = [&](JobConfig* config) -> absl::Status {
    for (const std::string& assignment : flags.set) {
      RETURN_IF_ERROR(apply_override(assignment, config), "--set");
    }
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const CheckedJob job,
                   CheckedJob::load(FileSystem::local(), flags.config,
                                    {.use = CheckedJob::Use::kModel, .change = set}));
  const DataConfig& data = job.train().train_data();
  if (data.has_mix() || data.has_windows() || data.has_custom_dataset()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.config, ": this benchmark reads files of one source, and train_data has ",
        data.has_mix() ? "a mix" : (data.has_windows() ? "windows" : "a registered dataset"),
        "; give a configuration with the path of some of its files"));
  }
  return job.train();
}

struct Pass {
  double rows_per_second = 0;
  double cpu_seconds = 0;  // of all threads
  int64_t rows = 0;
};

// Measures `read`, which returns the number of rows.
template <typename Read>
absl::StatusOr<Pass> measure_read(Read read) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu = process_cpu_seconds();
  Pass pass;
  ASSIGN_OR_RETURN(pass.rows, read());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  pass.cpu_seconds = process_cpu_seconds() - cpu;
  pass.rows_per_second = static_cast<double>(pass.rows) / seconds.count();
  return pass;
}

// Reads one epoch and returns the number of rows.
absl::StatusOr<int64_t> read_epoch(Dataset& data, int64_t epoch) {
  RETURN_IF_ERROR(data.start_epoch(epoch));
  int64_t rows = 0;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
    if (!batch.has_value()) break;
    rows += batch->size;
  }
  return rows;
}

// Reads the same files and columns with Arrow only.
absl::StatusOr<int64_t> read_all_with_arrow(const BatchDataset& data, const FeatureSchema& schema) {
  std::vector<std::string> columns;
  for (const FeatureConfig& feature : schema.features()) columns.push_back(column_of(feature));
  int64_t rows = 0;
  for (const std::string& path : data.files()) {
    ASSIGN_OR_RETURN(const int64_t more, read_with_arrow(path, columns));
    rows += more;
  }
  return rows;
}

}  // namespace

absl::Status bench_ingest(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  ASSIGN_OR_RETURN(const TrainConfig config, read_train_config(flags));
  DatasetOptions options;
  options.data = config.train_data();
  ASSIGN_OR_RETURN(options.schema, FeatureSchema::create(config));
  options.seed = config.seed();
  options.files = &UriFileSystem::process();
  options.reader_threads = static_cast<int>(flags.threads);
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> data, open_dataset(options));
  const std::map<std::string, std::string> parameters = {
      {"config", flags.config},
      {"reader_threads", absl::StrCat(flags.threads)},
      {"shuffle_rows", absl::StrCat(options.data.shuffle_rows())}};
  Measurement rate{"ingest", parameters, "rows/s", true, {}};
  Measurement core{"ingest/core", parameters, "rows/s of CPU time", true, {}};
  Measurement arrow{"ingest/arrow", parameters, "rows/s of CPU time", true, {}};
  Measurement ratio{"ingest/ratio", parameters, "CPU time over Arrow's", false, {}};
  const bool compares = std::all_of(data->files().begin(), data->files().end(), arrow_reads);
  for (int64_t epoch = 0; epoch <= flags.repeats; ++epoch) {
    ASSIGN_OR_RETURN(const Pass ours, measure_read([&] { return read_epoch(*data, epoch); }));
    Pass theirs;
    if (compares) {
      ASSIGN_OR_RETURN(theirs,
                       measure_read([&] { return read_all_with_arrow(*data, options.schema); }));
    }
    if (epoch == 0) continue;  // it warms the page cache
    rate.values.push_back(ours.rows_per_second);
    core.values.push_back(static_cast<double>(ours.rows) / ours.cpu_seconds);
    if (!compares) continue;
    arrow.values.push_back(static_cast<double>(theirs.rows) / theirs.cpu_seconds);
    ratio.values.push_back(ours.cpu_seconds / theirs.cpu_seconds);
  }
  print(rate);
  print(core);
  if (compares) {
    print(arrow);
    print(ratio);
  }
  return absl::OkStatus();
}

}  // namespace millrace
