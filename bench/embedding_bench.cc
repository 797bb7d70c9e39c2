#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "bench/benchmark.h"
#include "bench/embedding_workload.h"
#include "bench/measured_window.h"
#include "embedding/embedding_collection.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kBatches = 8;  // that take turns
constexpr int64_t kWarmUpSteps = 2 * kBatches;
constexpr double kWindowSeconds = 1.5;  // of a measurement, about
constexpr int64_t kCheckedSteps = 20;
constexpr int64_t kChunk = 2048;  // rows of each table looked up at once, outside steps
constexpr double kLearningRate = 0.01;

enum Phase { kForward, kBackward, kSummarize, kApply, kPhases };
constexpr const char* kPhaseNames[kPhases] = {"forward", "backward", "summarize", "apply"};
using PhaseSeconds = std::array<double, kPhases>;

// A configuration that chooses the optimizer of this name with its defaults.
absl::StatusOr<SparseOptimizerConfig> optimizer_named(const std::string& name) {
  SparseOptimizerConfig config;
  config.set_learning_rate(kLearningRate);
  const google::protobuf::OneofDescriptor* kinds =
      SparseOptimizerConfig::descriptor()->FindOneofByName("kind");
  std::vector<std::string> known;
  for (int i = 0; i < kinds->field_count(); ++i) {
    known.push_back(kinds->field(i)->name());
    if (known.back() != name) continue;
    config.GetReflection()->MutableMessage(&config, kinds->field(i));
    return config;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--optimizer: no optimizer \"", name, "\"", did_you_mean(name, known)));
}

at::Tensor int64_tensor(const std::vector<int64_t>& values) {
  return torch::tensor(values, at::kLong);
}

// `lists` lists of the same number of ids.
KeyedJagged jagged(const std::vector<int64_t>& ids, int64_t lists) {
  KeyedJagged result;
  result.values = int64_tensor(ids);
  result.offsets = at::arange(lists + 1, at::kLong) * (static_cast<int64_t>(ids.size()) / lists);
  return result;
}

EmbeddingCollectionOptions collection_options(const EmbeddingShape& shape, int64_t threads) {
  EmbeddingCollectionOptions options;
  options.threads = static_cast<int>(threads);
  for (int64_t t = 0; t < shape.tables; ++t) {
    TableConfig config;
    config.set_name(absl::StrCat("table", t));
    config.set_dim(shape.dim);
    options.tables.push_back(config);
    options.features.push_back({absl::StrCat("feature", t), config.name(), SUM});
  }
  return options;
}

// A collection of full tables, and the steps of a trainer on it.
class EmbeddingSteps {
 public:
  explicit EmbeddingSteps(EmbeddingWorkload workload) : workload_(std::move(workload)) {}

  absl::Status prepare(const std::string& optimizer, int64_t threads) {
    const EmbeddingShape& shape = workload_.shape();
    ASSIGN_OR_RETURN(const SparseOptimizerConfig config, optimizer_named(optimizer));
    ASSIGN_OR_RETURN(collection_, EmbeddingCollection::create(collection_options(shape, threads)));
    EmbeddingCollection* const collections[] = {collection_.get()};
    ASSIGN_OR_RETURN(optimizer_, SparseOptimizer::create(config, collections));
    RETURN_IF_ERROR(fill());
    for (int64_t number = 0; number < kBatches; ++number) {
      std::vector<int64_t> ids = workload_.batch_rows(number);
      const int64_t count = shape.batch * shape.ids_per_feature;
      for (size_t i = 0; i < ids.size(); ++i) {
        ids[i] = workload_.id(static_cast<int64_t>(i) / count, ids[i]);
      }
      batches_.push_back(jagged(ids, shape.tables * shape.batch));
    }
    // A tensor of its own, as backward passes make them: views are copied before they are kept.
    gradient_ = torch::tensor(workload_.gradient()).view({shape.batch, -1}).clone();
    return absl::OkStatus();
  }

  // One step as the trainer makes it; adds what its phases took.
  absl::Status run(PhaseSeconds& seconds) {
    std::array<SteadyClock::time_point, kPhases + 1> times;
    times[kForward] = SteadyClock::now();
    ASSIGN_OR_RETURN(const EmbeddingOutput output,
                     collection_->forward(batches_[next_++ % kBatches]));
    times[kBackward] = SteadyClock::now();
    output.pooled.backward(gradient_);
    times[kSummarize] = SteadyClock::now();
    if (!optimizer_->summarize(false).finite) {
      return absl::InternalError("the gradients of the benchmark are not finite");
    }
    times[kApply] = SteadyClock::now();
    RETURN_IF_ERROR(end_step());
    times[kPhases] = SteadyClock::now();
    for (int phase = 0; phase < kPhases; ++phase) {
      seconds[phase] += std::chrono::duration<double>(times[phase + 1] - times[phase]).count();
    }
    return absl::OkStatus();
  }

  absl::Status run(int64_t steps, PhaseSeconds& seconds) {
    for (int64_t i = 0; i < steps; ++i) RETURN_IF_ERROR(run(seconds));
    return absl::OkStatus();
  }

  // Weights of all rows, float32 [rows, tables, dim] as bytes.
  absl::StatusOr<std::string> weights() {
    const at::NoGradGuard no_gradients;
    std::vector<int64_t> rows(static_cast<size_t>(workload_.shape().rows));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
    std::string bytes;
    RETURN_IF_ERROR(look_up_chunks([&](int64_t) { return rows; },
                                   [&](const at::Tensor& pooled) {
                                     bytes.append(static_cast<const char*>(pooled.const_data_ptr()),
                                                  pooled.nbytes());
                                     return absl::OkStatus();
                                   }));
    return bytes;
  }

 private:
  absl::Status end_step() {
    RETURN_IF_ERROR(optimizer_->step(progress_));
    ++progress_.step;
    return absl::OkStatus();
  }

  // Steps without gradients, which leave the initial values.
  absl::Status fill() {
    RETURN_IF_ERROR(look_up_chunks([&](int64_t table) { return workload_.rows_by_arrival(table); },
                                   [&](const at::Tensor&) { return end_step(); }));
    for (const std::unique_ptr<EmbeddingTable>& table : collection_->tables()) {
      table->set_applied_steps(0);
    }
    progress_ = Progress();
    return absl::OkStatus();
  }

  // Looks up all rows in the order of rows_of(table), and shows the output of each chunk.
  absl::Status look_up_chunks(const std::function<std::vector<int64_t>(int64_t)>& rows_of,
                              const std::function<absl::Status(const at::Tensor&)>& show) {
    const EmbeddingShape& shape = workload_.shape();
    std::vector<std::vector<int64_t>> rows;
    for (int64_t t = 0; t < shape.tables; ++t) rows.push_back(rows_of(t));
    for (int64_t begin = 0; begin < shape.rows; begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, shape.rows);
      std::vector<int64_t> ids;
      for (int64_t t = 0; t < shape.tables; ++t) {
        for (int64_t i = begin; i < end; ++i) ids.push_back(workload_.id(t, rows[t][i]));
      }
      const auto lists = static_cast<int64_t>(ids.size());
      ASSIGN_OR_RETURN(const EmbeddingOutput output, collection_->forward(jagged(ids, lists)));
      RETURN_IF_ERROR(show(output.pooled));
    }
    return absl::OkStatus();
  }

  const EmbeddingWorkload workload_;
  std::shared_ptr<EmbeddingCollection> collection_;  // as LibTorch's modules are held
  std::unique_ptr<SparseOptimizer> optimizer_;
  std::vector<KeyedJagged> batches_;
  at::Tensor gradient_;
  Progress progress_;
  int64_t next_ = 0;
};

template <typename T>
absl::Status write_numbers(const std::string& path, const std::vector<T>& numbers) {
  return write_file_atomically(
      FileSystem::local(), path,
      absl::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)));
}

absl::Status write_data(const EmbeddingWorkload& workload, const std::string& directory) {
  std::vector<int64_t> rows;
  for (int64_t number = 0; number < kBatches; ++number) {
    const std::vector<int64_t> batch = workload.batch_rows(number);
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  RETURN_IF_ERROR(write_numbers(directory + "/rows.i64", rows), "--data");
  return annotate(write_numbers(directory + "/gradient.f32", workload.gradient()), "--data");
}

// Rows before and after some steps, into files.
absl::Status write_check(EmbeddingSteps& steps, int64_t count, const std::string& directory) {
  for (const char* name : {"/before.f32", "/after.f32"}) {
    if (name == absl::string_view("/after.f32")) {
      PhaseSeconds seconds = {};
      RETURN_IF_ERROR(steps.run(count > 0 ? count : kCheckedSteps, seconds));
    }
    ASSIGN_OR_RETURN(const std::string weights, steps.weights());
    RETURN_IF_ERROR(write_file_atomically(FileSystem::local(), directory + name, weights),
                    "--data");
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
          {"threads", absl::StrCat(flags.threads)}};
}

absl::Status measure(const BenchmarkFlags& flags, EmbeddingSteps& steps, int64_t ids_in_step,
                     const PrintMeasurement& print) {
  PhaseSeconds warm_up = {};
  RETURN_IF_ERROR(steps.run(kWarmUpSteps, warm_up));
  warm_up = {};
  RETURN_IF_ERROR(steps.run(kBatches, warm_up));
  double round = 0;
  for (const double seconds : warm_up) round += seconds;
  const int64_t count = flags.steps > 0
                            ? flags.steps
                            : kBatches * static_cast<int64_t>(std::ceil(kWindowSeconds / round));

  const std::map<std::string, std::string> parameters = parameters_of(flags);
  Measurement rate{"embedding", parameters, "ids/s", true, {}};
  Measurement foreign{"embedding/foreign", parameters, "cores", false, {}};
  Measurement stolen{"embedding/stolen", parameters, "cores", false, {}};
  std::vector<Measurement> phases;
  for (const char* name : kPhaseNames) {
    phases.push_back({absl::StrCat("embedding/", name), parameters, "ms", false, {}});
  }
  for (int64_t i = 0; i < flags.repeats; ++i) {
    PhaseSeconds seconds = {};
    ASSIGN_OR_RETURN(const MeasuredWindow window, MeasuredWindow::begin());
    RETURN_IF_ERROR(steps.run(count, seconds));
    ASSIGN_OR_RETURN(const MeasuredWindow::Figures figures, window.end());
    rate.values.push_back(static_cast<double>(count * ids_in_step) / figures.seconds);
    foreign.values.push_back(figures.foreign_cores);
    stolen.values.push_back(figures.stolen_cores);
    for (int phase = 0; phase < kPhases; ++phase) {
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
  if (!embedding.data.empty()) RETURN_IF_ERROR(write_data(workload, embedding.data));
  EmbeddingSteps steps(workload);
  RETURN_IF_ERROR(steps.prepare(embedding.optimizer, flags.threads));
  if (embedding.check) return write_check(steps, flags.steps, embedding.data);
  return measure(flags, steps, workload.ids_in_batch(), print);
}

}  // namespace millrace
