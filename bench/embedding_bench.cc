#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "bench/embedding/embedding_files.h"
#include "bench/embedding/embedding_setup.h"
#include "bench/embedding/embedding_steps.h"
#include "bench/embedding/embedding_workload.h"
#include "bench/measured_window.h"

namespace millrace {
namespace {

constexpr int64_t kEmbeddingWarmUpSteps = 2 * EmbeddingSteps::kBatches;

constexpr const char* kPhaseNames[] = {"forward", "backward", "summarize", "apply"};

// Writes the rows before and after some steps to files.
absl::Status write_check(EmbeddingSteps& steps, int64_t count, EmbeddingFiles& files) {
  for (const char* name : {kBeforeFile, kAfterFile}) {
    if (name == kAfterFile) {
      EmbeddingSteps::Seconds seconds = {};
      RETURN_IF_ERROR(steps.run(count > 0 ? count : kCheckedSteps, seconds));
    }
    ASSIGN_OR_RETURN(const std::string weights, steps.weights());
    RETURN_IF_ERROR(files.write(name, weights), "--data");
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> parameters_of(const BenchmarkFlags& flags) {
  const EmbeddingShape& shape = flags.embedding.shape;
  return {{"tables", absl::StrCat(shape.tables)},
          {"rows", absl::StrCat(shape.rows)},
          {"dim", absl::StrCat(shape.dim)},
          {"batch", absl::StrCat(shape.batch)},
          {"ids_per_feature", absl::StrCat(shape.ids_per_feature)},
          {"zipf", absl::StrCat(shape.zipf)},
          {"ids", shape.ids},
          {"optimizer", flags.embedding.optimizer},
          {"instruction_set", name_of(flags.embedding.instruction_set)},
          {"threads", absl::StrCat(flags.threads)}};
}

absl::Status measure_steps(const BenchmarkFlags& flags, EmbeddingSteps& steps, int64_t ids_in_step,
                           const PrintMeasurement& print) {
  EmbeddingSteps::Seconds warm_up = {};
  RETURN_IF_ERROR(steps.run(kEmbeddingWarmUpSteps, warm_up));
  // The second round has warm caches; its time gives the number of steps of a window.
  warm_up = {};
  RETURN_IF_ERROR(steps.run(EmbeddingSteps::kBatches, warm_up));
  double round = 0;
  for (const double seconds : warm_up) round += seconds;
  const int64_t count =
      flags.steps > 0
          ? flags.steps
          : EmbeddingSteps::kBatches * static_cast<int64_t>(std::ceil(kWindowSeconds / round));
  const std::map<std::string, std::string> parameters = parameters_of(flags);
  Measurement rate{"embedding", parameters, "ids/s", true, {}};
  Measurement foreign{"embedding/foreign", parameters, "cores", false, {}};
  Measurement stolen{"embedding/stolen", parameters, "cores", false, {}};
  std::vector<Measurement> phases;
  for (const char* name : kPhaseNames) {
    phases.push_back({absl::StrCat("embedding/", name), parameters, "ms", false, {}});
  }
  for (int64_t i = 0; i < flags.repeats; ++i) {
    EmbeddingSteps::Seconds seconds = {};
    ASSIGN_OR_RETURN(const MeasuredWindow window, MeasuredWindow::begin());
    RETURN_IF_ERROR(steps.run(count, seconds));
    ASSIGN_OR_RETURN(const MeasuredWindow::Figures figures, window.end());
    rate.values.push_back(static_cast<double>(count * ids_in_step) / figures.seconds);
    foreign.values.push_back(figures.foreign_cores);
    stolen.values.push_back(figures.stolen_cores);
    for (int phase = 0; phase < EmbeddingSteps::kPhases; ++phase) {
      phases[phase].values.push_back(1e3 * seconds[phase] / static_cast<double>(count));
    }
  }
  print(rate);
  for (const Measurement& phase : phases) print(phase);
  print(foreign);
  print(stolen);
  return absl::OkStatus();
}

}  // namespace

absl::Status bench_embedding(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  at::set_num_threads(static_cast<int>(flags.threads));
  const EmbeddingFlags& embedding = flags.embedding;
  if (embedding.check && embedding.data.empty()) {
    return absl::InvalidArgumentError("--check writes rows: say where, with --data DIR");
  }
  ASSIGN_OR_RETURN(const EmbeddingWorkload workload, EmbeddingWorkload::create(embedding.shape));
  std::optional<EmbeddingFiles> files;
  if (!embedding.data.empty()) {
    ASSIGN_OR_RETURN(EmbeddingFiles opened,
                     open_embedding_files(embedding.data, embedding.check, embedding.overwrite));
    files.emplace(std::move(opened));
    RETURN_IF_ERROR(write_batches(workload, *files));
  }
  EmbeddingSteps steps(workload);
  RETURN_IF_ERROR(steps.prepare(embedding.optimizer, flags.threads, embedding.instruction_set));
  if (embedding.check) return write_check(steps, flags.steps, *files);
  return measure_steps(flags, steps, workload.ids_in_batch(), print);
}

}  // namespace millrace
