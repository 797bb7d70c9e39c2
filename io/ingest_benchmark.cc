// How fast files become batches. One iteration reads one epoch of a folder of Criteo-shaped
// files (label, i1..i13, c1..c26) given by MILLRACE_DATA, or by default ../shared/data/criteo_orc.
//   MILLRACE_DATA=... bazel run -c opt //io:ingest_benchmark
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "io/batch_dataset.h"

namespace millrace {
namespace {

FeatureSchema criteo_schema() {
  TrainConfig config;
  FeatureConfig* label = config.add_feature();
  label->set_name("label");
  label->set_kind(FeatureConfig::LABEL);
  for (int i = 1; i <= 13; ++i) {
    FeatureConfig* feature = config.add_feature();
    feature->set_name(absl::StrCat("i", i));
    feature->set_kind(FeatureConfig::DENSE);
    feature->set_default_value(0);
    feature->add_transform()->mutable_log1p();
  }
  for (int i = 1; i <= 26; ++i) config.add_feature()->set_name(absl::StrCat("c", i));
  return *FeatureSchema::create(config);
}

// Arguments: shuffle_rows, reader threads.
void read_epoch(benchmark::State& state) {
  DatasetOptions options;
  const char* folder = std::getenv("MILLRACE_DATA");
  options.data.add_path(
      absl::StrCat(folder != nullptr ? folder : "../shared/data", "/criteo_orc/*.orc"));
  options.data.set_shuffle_rows(state.range(0));
  options.reader_threads = static_cast<int>(state.range(1));
  options.schema = criteo_schema();
  const auto data = open_dataset(options);
  if (!data.ok()) return state.SkipWithError(data.status().ToString().c_str());
  int64_t rows = 0, epoch = 0;
  for (auto _ : state) {
    absl::Status status = (*data)->start_epoch(epoch++);
    while (status.ok()) {
      const absl::StatusOr<std::optional<Batch>> batch = (*data)->next();
      status = batch.status();
      if (!batch.ok() || !batch->has_value()) break;
      rows += (*batch)->size;
    }
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(read_epoch)
    ->ArgNames({"shuffle_rows", "threads"})
    ->Args({0, 1})
    ->Args({100000, 1})
    ->Args({100000, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace

BENCHMARK_MAIN();
