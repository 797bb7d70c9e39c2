#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "bench/benchmark.h"
#include "bench/cpu_time.h"
#include "bench/embedding/embedding_files.h"
#include "bench/embedding/embedding_setup.h"
#include "bench/embedding/embedding_steps.h"
#include "bench/embedding/embedding_workload.h"
#include "bench/flag_checks.h"
#include "bench/measured_window.h"
#include "bench/ranks/measured_collectives.h"
#include "bench/ranks/rank_steps.h"
#include "bench/ranks/serving_process.h"
#include "distributed/c10d_collectives.h"
#include "embedding/rows/placement.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Numbers = std::vector<double>;

constexpr int64_t kMostRanks = 64;
constexpr int64_t kRanksWarmUpSteps = 2 * kEmbeddingBatches;
constexpr int64_t kMeasuredExchanges = 50;
constexpr absl::string_view kOverTcp = "TCP", kOverC10d = "C10D";

// Requests to the processes. Each request has a number: of steps; of bytes of a message; or 0
// before and 1 after the checked steps.
enum Request : int64_t { kStepsRequest, kExchange, kWriteWeights };

// Places in the answer of a process to kStepsRequest: seconds, processor seconds, figures of the
// stages.
constexpr size_t kSeconds = 0, kProcessorSeconds = 1, kFirstStage = 2;
constexpr size_t kFirstExchange = kFirstStage + RankSteps::kStages;

constexpr const char* kExchangeNames[] = {"step", "ids", "rows", "sums", "vector"};
constexpr const char* kStageNames[] = {"step_exchange", "fetch",  "forward", "backward",
                                       "summarize",     "commit", "apply"};

// Returns the seconds of the exchanges within a stage.
double exchange_seconds(const Numbers& answer, int stage) {
  const auto seconds = [&](int exchange) { return answer[kFirstExchange + 2 * exchange]; };
  switch (stage) {
    case RankSteps::kStepExchange: return seconds(MeasuredCollectives::kStep);
    case RankSteps::kFetch:
      return seconds(MeasuredCollectives::kIds) + seconds(MeasuredCollectives::kRows);
    case RankSteps::kCommit:
      return seconds(MeasuredCollectives::kSums) + seconds(MeasuredCollectives::kVector);
    default: return 0;
  }
}

// Runs steps and returns the beginning of the answer.
template <typename Run>
absl::StatusOr<Numbers> run_measured(Run run) {
  const double processor_seconds = process_cpu_seconds();
  const auto start = SteadyClock::now();
  RETURN_IF_ERROR(run());
  return Numbers{std::chrono::duration<double>(SteadyClock::now() - start).count(),
                 process_cpu_seconds() - processor_seconds};
}

absl::StatusOr<Numbers> run_steps(EmbeddingSteps& steps, int64_t count) {
  EmbeddingSteps::Seconds seconds = {};
  return run_measured([&] { return steps.run(count, seconds); });
}

absl::StatusOr<Numbers> run_steps(RankSteps& steps, int64_t count) {
  RankSteps::Figures figures;
  ASSIGN_OR_RETURN(Numbers answer, run_measured([&] { return steps.run(count, figures); }));
  answer.insert(answer.end(), figures.seconds.begin(), figures.seconds.end());
  for (const MeasuredCollectives::Total& total : figures.exchanges) {
    answer.push_back(total.seconds);
    answer.push_back(static_cast<double>(total.bytes));
  }
  return answer;
}

// One setting of the benchmark.
struct Setting {
  const DistributedFlags& flags;
  const EmbeddingWorkload& workload;
  std::string optimizer;
  std::string table_channel;
  int64_t threads = 1;              // of a rank
  EmbeddingFiles* files = nullptr;  // where rank 0 writes weights
};

// Creates the function that answers the requests to a rank.
absl::StatusOr<ServingProcess::Serve> make_rank(const Setting& setting, int rank, int port) {
  at::set_num_threads(static_cast<int>(setting.threads));
  const auto ranks = static_cast<int>(setting.flags.ranks);
  C10dOptions options;
  options.environment = {.rank = rank,
                         .world_size = ranks,
                         .local_rank = rank,
                         .local_world_size = ranks,
                         .master_address = "127.0.0.1",
                         .master_port = port};
  options.identity = {.name = "bench distributed", .version = kVersion, .config = ""};
  options.tables_over_c10d = setting.table_channel == kOverC10d;
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  // Shared, because std::function copies its state.
  const auto steps = std::make_shared<RankSteps>(setting.workload, std::move(collectives));
  RETURN_IF_ERROR(
      steps->prepare(setting.optimizer, setting.threads, setting.flags.instruction_set));
  return [=](absl::Span<const int64_t> request) -> absl::StatusOr<Numbers> {
    if (request[0] == kStepsRequest) return run_steps(*steps, request[1]);
    if (request[0] == kExchange) {
      ASSIGN_OR_RETURN(const double seconds, steps->exchange(request[1], kMeasuredExchanges));
      return Numbers{seconds};
    }
    ASSIGN_OR_RETURN(const std::string weights, steps->weights());
    if (rank > 0) return Numbers();
    RETURN_IF_ERROR(setting.files->write(request[1] == 0 ? kBeforeFile : kAfterFile, weights),
                    "--data");
    return Numbers();
  };
}

absl::StatusOr<ServingProcess::Serve> make_one_process(const Setting& setting) {
  const int64_t threads = setting.threads * setting.flags.ranks;
  at::set_num_threads(static_cast<int>(threads));
  const auto steps = std::make_shared<EmbeddingSteps>(setting.workload);  // as above
  RETURN_IF_ERROR(steps->prepare(setting.optimizer, threads, setting.flags.instruction_set));
  return [=](absl::Span<const int64_t> request) { return run_steps(*steps, request[1]); };
}

// Processes that get the same requests and answer at the same time.
class Side {
 public:
  // `name`: the name of a process in messages.
  explicit Side(const char* name) : name_(name) {}
  ~Side() {
    // All ranks must begin to leave before one is awaited, since ranks that leave wait for one
    // another.
    for (const auto& process : processes_) process->finish();
  }
  absl::Status add(const ServingProcess::Make& make) {
    ASSIGN_OR_RETURN(processes_.emplace_back(), ServingProcess::start(make));
    return absl::OkStatus();
  }
  // Errors: the error of the process that failed first; later failures follow from it.
  absl::StatusOr<std::vector<Numbers>> ask(Request request, int64_t number) {
    absl::Status failure;
    const auto fail = [&](const absl::Status& status, size_t process) {
      if (!failure.ok() && !absl::IsAborted(failure)) return;
      failure = annotate(
          status, processes_.size() == 1 ? std::string(name_) : absl::StrCat(name_, " ", process));
    };
    std::vector<Numbers> answers;
    for (size_t i = 0; i < processes_.size(); ++i) {
      const absl::Status asked = processes_[i]->ask({request, number});
      if (!asked.ok()) fail(asked, i);
    }
    for (size_t i = 0; i < processes_.size(); ++i) {
      absl::StatusOr<Numbers> answer = processes_[i]->answer();
      if (answer.ok()) {
        answers.push_back(*std::move(answer));
      } else {
        fail(answer.status(), i);
      }
    }
    if (!failure.ok()) return failure;
    return answers;
  }

 private:
  const char* const name_;
  std::vector<std::unique_ptr<ServingProcess>> processes_;
};

absl::Status add_ranks(const Setting& setting, int port, Side& side) {
  for (int rank = 0; rank < setting.flags.ranks; ++rank) {
    RETURN_IF_ERROR(side.add([&setting, rank, port] { return make_rank(setting, rank, port); }));
  }
  return absl::OkStatus();
}

// A measurement of a side.
struct Window {
  std::vector<Numbers> answers;  // of each process
  double seconds = 0;            // of the slowest
  double foreign_cores = 0;      // kept busy by other programs
  double stolen_cores = 0;
};

absl::StatusOr<Window> measure_window(Side& side, int64_t steps) {
  Window window;
  ASSIGN_OR_RETURN(const MeasuredWindow measured, MeasuredWindow::begin());
  ASSIGN_OR_RETURN(window.answers, side.ask(kStepsRequest, steps));
  ASSIGN_OR_RETURN(const MeasuredWindow::Figures figures, measured.end());
  double processor_seconds = 0;
  for (const Numbers& answer : window.answers) {
    window.seconds = std::max(window.seconds, answer[kSeconds]);
    processor_seconds += answer[kProcessorSeconds];
  }
  window.stolen_cores = figures.stolen_cores;
  window.foreign_cores = std::max(0.0, figures.foreign_cores - processor_seconds / figures.seconds);
  return window;
}

// Returns the number of steps of a window.
absl::StatusOr<int64_t> calibrate(Side& side, int64_t wanted) {
  RETURN_IF_ERROR(side.ask(kStepsRequest, kRanksWarmUpSteps).status());
  if (wanted > 0) return wanted;
  ASSIGN_OR_RETURN(const Window round, measure_window(side, kEmbeddingBatches));
  return kEmbeddingBatches * static_cast<int64_t>(std::ceil(kWindowSeconds / round.seconds));
}

// Counts of ids that decide the size of the exchanges.
struct Traffic {
  double unique_share = 0;  // distinct ids of a rank and table, over all
  double imbalance = 0;     // rows that an owner serves: maximum over mean, averaged over batches
};

Traffic traffic_of(const EmbeddingWorkload& workload, int ranks) {
  const EmbeddingShape& shape = workload.shape();
  const int64_t of_rank = shape.batch / ranks * shape.ids_per_feature;
  Traffic traffic;
  double distinct = 0;
  for (int64_t number = 0; number < kEmbeddingBatches; ++number) {
    const std::vector<int64_t> rows = workload.batch_rows(number);
    Numbers served(static_cast<size_t>(ranks));
    for (int64_t begin = 0; begin < static_cast<int64_t>(rows.size()); begin += of_rank) {
      // `rows` is [table][rank][id]: each piece of `of_rank` ids belongs to one table and one rank.
      const int64_t table = begin / (of_rank * ranks);
      const std::unordered_set<int64_t> of_table(rows.begin() + begin,
                                                 rows.begin() + begin + of_rank);
      // A rank requests each distinct id of a table once.
      for (const int64_t row : of_table) {
        ++served[Placement::owner(workload.id(table, row), ranks)];
      }
    }
    const double all = std::accumulate(served.begin(), served.end(), 0.0);
    distinct += all;
    traffic.imbalance += *std::max_element(served.begin(), served.end()) * ranks / all;
  }
  traffic.imbalance /= kEmbeddingBatches;
  traffic.unique_share =
      distinct / static_cast<double>(kEmbeddingBatches * workload.ids_in_batch());
  return traffic;
}

// The figures of a setting.
class Lines {
 public:
  explicit Lines(const Setting& setting) : setting_(setting) {
    const EmbeddingShape& shape = setting.workload.shape();
    parameters_ = {{"ranks", absl::StrCat(setting.flags.ranks)},
                   {"tables", absl::StrCat(shape.tables)},
                   {"rows", absl::StrCat(shape.rows)},
                   {"dim", absl::StrCat(shape.dim)},
                   {"batch", absl::StrCat(shape.batch)},
                   {"ids_per_feature", absl::StrCat(shape.ids_per_feature)},
                   {"zipf", absl::StrCat(shape.zipf)},
                   {"ids", shape.ids},
                   {"optimizer", setting.optimizer},
                   {"table_channel", setting.table_channel},
                   {"instruction_set", name_of(setting.flags.instruction_set)},
                   {"threads", absl::StrCat(setting.threads * setting.flags.ranks)}};
  }

  void add(const std::string& name, const char* unit, bool higher_is_better, double value) {
    const std::string full = name.empty() ? "distributed" : absl::StrCat("distributed/", name);
    for (Measurement& line : lines_) {
      if (line.name == full) return line.values.push_back(value);
    }
    lines_.push_back({full, parameters_, unit, higher_is_better, {value}});
  }

  // Adds the figures. `exchange`: seconds of an exchange of `message` bytes with each other rank.
  void add(const Window& over_ranks, int64_t steps, const Window& one, int64_t one_steps,
           double exchange, int64_t message) {
    const auto ids = static_cast<double>(setting_.workload.ids_in_batch());
    const double step = over_ranks.seconds / static_cast<double>(steps);
    const double own = one.seconds / static_cast<double>(one_steps);
    const double bytes_per_second =
        static_cast<double>(message * (setting_.flags.ranks - 1)) / exchange;
    double bytes = 0;
    for (const auto kind :
         {MeasuredCollectives::kIds, MeasuredCollectives::kRows, MeasuredCollectives::kSums}) {
      bytes += bytes_of(over_ranks, kind, steps);
    }
    // The best possible ratio: a step over ranks has at least the work of a step of one process
    // with as many threads, and the transfer of its messages.
    const double bound = own / (own + bytes / bytes_per_second);
    add("", "ids/s", true, ids / step);
    add("one_process", "ids/s", true, ids / own);
    add("share_of_one_process", "", true, own / step);
    add("bound", "", true, bound);
    add("share_of_bound", "", true, own / step / bound);
    add("transport", "MB/s", true, bytes_per_second / 1e6);
    for (int kind = 0; kind < MeasuredCollectives::kExchanges; ++kind) {
      const std::string name = absl::StrCat("exchange/", kExchangeNames[kind]);
      add(name, "ms", false, mean(over_ranks, [&](const Numbers& answer) {
            return 1e3 * answer[kFirstExchange + 2 * kind] / static_cast<double>(steps);
          }));
      add(name + "/bytes", "B", false, bytes_of(over_ranks, kind, steps));
    }
    for (int stage = 0; stage < RankSteps::kStages; ++stage) {
      // A stage without the exchanges within it, which have their own lines.
      add(absl::StrCat("work/", kStageNames[stage]), "ms", false,
          mean(over_ranks, [&](const Numbers& answer) {
            return 1e3 * (answer[kFirstStage + stage] - exchange_seconds(answer, stage)) /
                   static_cast<double>(steps);
          }));
    }
    add("foreign", "cores", false, std::max(over_ranks.foreign_cores, one.foreign_cores));
    add("stolen", "cores", false, std::max(over_ranks.stolen_cores, one.stolen_cores));
  }

  // Returns the mean over ranks of the bytes that a rank sends per step.
  static double bytes_of(const Window& window, int exchange, int64_t steps) {
    return mean(window, [&](const Numbers& answer) {
      return answer[kFirstExchange + 2 * exchange + 1] / static_cast<double>(steps);
    });
  }

  void print(const PrintMeasurement& print) const {
    for (const Measurement& line : lines_) print(line);
  }

 private:
  template <typename Value>
  static double mean(const Window& window, Value value) {
    double sum = 0;
    for (const Numbers& answer : window.answers) sum += value(answer);
    return sum / static_cast<double>(window.answers.size());
  }

  const Setting& setting_;
  std::map<std::string, std::string> parameters_;
  std::vector<Measurement> lines_;
};

absl::Status measure_ranks(const BenchmarkFlags& flags, const Setting& setting, Side& ranks,
                           Side& one, const PrintMeasurement& print) {
  ASSIGN_OR_RETURN(const int64_t steps, calibrate(ranks, flags.steps));
  ASSIGN_OR_RETURN(const int64_t one_steps, calibrate(one, flags.steps));
  Lines lines(setting);
  const Traffic traffic = traffic_of(setting.workload, static_cast<int>(setting.flags.ranks));
  for (int64_t i = 0; i < flags.repeats; ++i) {
    ASSIGN_OR_RETURN(const Window over_ranks, measure_window(ranks, steps));
    ASSIGN_OR_RETURN(const Window alone, measure_window(one, one_steps));
    // Messages with the length of messages of rows.
    const auto message =
        static_cast<int64_t>(Lines::bytes_of(over_ranks, MeasuredCollectives::kRows, steps) /
                             static_cast<double>(setting.flags.ranks - 1));
    ASSIGN_OR_RETURN(const std::vector<Numbers> exchanges, ranks.ask(kExchange, message));
    double exchange = 0;
    for (const Numbers& seconds : exchanges) exchange = std::max(exchange, seconds[0]);
    lines.add(over_ranks, steps, alone, one_steps, exchange, message);
    lines.add("unique_share", "", false, traffic.unique_share);
    lines.add("owner_imbalance", "", false, traffic.imbalance);
  }
  lines.print(print);
  return absl::OkStatus();
}

absl::Status run_setting(const BenchmarkFlags& flags, const Setting& setting,
                         const PrintMeasurement& print) {
  ASSIGN_OR_RETURN(const ReservedPort port, reserve_port());
  Side ranks("rank"), one("the single process");
  RETURN_IF_ERROR(add_ranks(setting, port.number, ranks));
  if (setting.flags.check) {
    RETURN_IF_ERROR(ranks.ask(kWriteWeights, 0).status());
    RETURN_IF_ERROR(
        ranks.ask(kStepsRequest, flags.steps > 0 ? flags.steps : kCheckedSteps).status());
    return ranks.ask(kWriteWeights, 1).status();
  }
  RETURN_IF_ERROR(one.add([&] { return make_one_process(setting); }));
  return measure_ranks(flags, setting, ranks, one, print);
}

absl::Status check_ranks(const BenchmarkFlags& flags) {
  const DistributedFlags& distributed = flags.distributed;
  RETURN_IF_ERROR(check_at_least("ranks", distributed.ranks, 2));
  if (distributed.ranks > kMostRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ranks is ", distributed.ranks, "; at most ", kMostRanks, " are due"));
  }
  if (flags.threads % distributed.ranks != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--threads is ", flags.threads,
                                                   "; it must be a multiple of --ranks, ",
                                                   distributed.ranks, ", which share them"));
  }
  if (distributed.batches.empty() || distributed.optimizers.empty() ||
      distributed.table_channels.empty()) {
    return absl::InvalidArgumentError(
        "--batch, --optimizer and --table_channel need at least one value each");
  }
  for (const std::string& channel : distributed.table_channels) {
    if (channel == kOverTcp || channel == kOverC10d) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--table_channel is ", channel, "; must be TCP or C10D"));
  }
  for (const std::string& optimizer : distributed.optimizers) {
    RETURN_IF_ERROR(sparse_optimizer_named(optimizer).status());
  }
  for (const int64_t batch : distributed.batches) {
    RETURN_IF_ERROR(check_at_least("batch", batch, 1));
    if (batch % distributed.ranks == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--batch is ", batch, "; it must be a multiple of --ranks, ",
                     distributed.ranks, ", which share its examples"));
  }
  // Names of files do not contain the setting, so a second setting would replace the first's files.
  const bool one_setting = distributed.batches.size() == 1 && distributed.optimizers.size() == 1 &&
                           distributed.table_channels.size() == 1;
  if (!distributed.data.empty() && !one_setting) {
    return absl::InvalidArgumentError(
        "--data takes the files of one setting: give one --batch, --optimizer and --table_channel");
  }
  if (distributed.check && distributed.data.empty()) {
    return absl::InvalidArgumentError("--check writes rows: say where, with --data DIR");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status bench_distributed(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  RETURN_IF_ERROR(check_ranks(flags));
  const DistributedFlags& distributed = flags.distributed;
  for (const std::string& optimizer : distributed.optimizers) {
    for (const int64_t batch : distributed.batches) {
      EmbeddingShape shape = distributed.shape;
      shape.batch = batch;
      ASSIGN_OR_RETURN(const EmbeddingWorkload workload, EmbeddingWorkload::create(shape));
      std::optional<EmbeddingFiles> files;
      if (!distributed.data.empty()) {
        ASSIGN_OR_RETURN(
            EmbeddingFiles opened,
            open_embedding_files(distributed.data, distributed.check, distributed.overwrite));
        files.emplace(std::move(opened));
        RETURN_IF_ERROR(write_batches(workload, *files));
      }
      for (const std::string& channel : distributed.table_channels) {
        const Setting setting = {distributed,
                                 workload,
                                 optimizer,
                                 channel,
                                 flags.threads / distributed.ranks,
                                 files ? &*files : nullptr};
        RETURN_IF_ERROR(run_setting(flags, setting, print));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
