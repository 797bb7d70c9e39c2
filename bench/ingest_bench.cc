#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "io/batch_dataset.h"
#include "io/feature_schema.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

absl::StatusOr<TrainConfig> read_train_config(const BenchmarkFlags& flags) {
  if (flags.config.empty()) {
    return absl::InvalidArgumentError("this benchmark reads a job's data: give --config FILE");
  }
  ASSIGN_OR_RETURN(JobConfig config, read_job_config(FileSystem::local(), flags.config));
  for (const std::string& assignment : flags.set) {
    RETURN_IF_ERROR(apply_override(assignment, &config), "--set");
  }
  expand_names(config.mutable_train());
  RETURN_IF_ERROR(validate(config), flags.config);
  return config.train();
}

// Rows of one epoch and the seconds they took.
absl::StatusOr<double> rows_per_second(Dataset& data, int64_t epoch) {
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(data.start_epoch(epoch));
  int64_t rows = 0;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
    if (!batch.has_value()) break;
    rows += batch->size;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(rows) / seconds.count();
}

}  // namespace

absl::Status bench_ingest(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  ASSIGN_OR_RETURN(const TrainConfig config, read_train_config(flags));
  DatasetOptions options;
  options.data = config.train_data();
  ASSIGN_OR_RETURN(options.schema, FeatureSchema::create(config));
  options.seed = config.seed();
  options.reader_threads = static_cast<int>(flags.threads);
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> data, open_dataset(options));
  Measurement rate{"ingest",
                   {{"config", flags.config},
                    {"reader_threads", absl::StrCat(flags.threads)},
                    {"shuffle_rows", absl::StrCat(options.data.shuffle_rows())}},
                   "rows/s",
                   true,
                   {}};
  for (int64_t epoch = 0; epoch <= flags.repeats; ++epoch) {
    ASSIGN_OR_RETURN(const double rows, rows_per_second(*data, epoch));
    if (epoch > 0) rate.values.push_back(rows);  // the first one warms the page cache
  }
  print(rate);
  return absl::OkStatus();
}

}  // namespace millrace
