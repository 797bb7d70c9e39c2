#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "bench/benchmark.h"
#include "distributed/c10d_collectives.h"
#include "distributed/step_exchange.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kDefaultSteps = 200;  // of a measurement
constexpr int64_t kGradients = 64 << 10;
constexpr double kStepMs = 5;

enum Mode { kNone, kHidden, kSynchronous, kModes };

double milliseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

// A fixed amount of arithmetic, so that whatever takes the core away from it shows.
class Work {
 public:
  // Finds the amount that takes `milliseconds` here.
  explicit Work(double milliseconds) : rounds_(1000) {
    double fastest = 0;
    for (int i = 0; i < 200; ++i) {
      const auto start = SteadyClock::now();
      run();
      const double taken = milliseconds_since(start);
      fastest = i == 0 ? taken : std::min(fastest, taken);
    }
    rounds_ = std::max<int64_t>(1, static_cast<int64_t>(1000 * milliseconds / fastest));
  }
  void run() {
    for (int64_t i = 0; i < rounds_; ++i) {
      for (float& value : values_) value = value * 0.999f + 0.001f;
    }
  }
  int64_t rounds() const { return rounds_; }
  void set_rounds(int64_t rounds) { rounds_ = rounds; }

 private:
  int64_t rounds_;
  std::vector<float> values_ = std::vector<float>(64, 1.0f);
};

// The median time of a step, in ms: the step's work, then the sum of its gradients, with the step
// exchange around both, before both, or not at all.
absl::StatusOr<double> measure(Collectives& collectives, Work& work, Mode mode, int64_t steps) {
  StepExchange exchange(collectives, 1);
  at::Tensor gradients = at::zeros({kGradients});
  ExchangeInput input;
  input.has_data = true;
  input.examples = 64;
  std::vector<double> times;
  for (int64_t step = 0; step < steps; ++step) {
    const auto start = SteadyClock::now();
    collectives.set_phase(RankPhase::kForward, step);
    if (mode == kSynchronous) RETURN_IF_ERROR(exchange.run(input).status());
    if (mode == kHidden) exchange.start(input);
    work.run();
    if (mode == kHidden) RETURN_IF_ERROR(exchange.finish().status());
    collectives.set_phase(RankPhase::kCommit, step);
    RETURN_IF_ERROR(collectives.start_sum(gradients)->wait());
    times.push_back(milliseconds_since(start));
  }
  std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
  return times[static_cast<size_t>(steps / 2)];
}

}  // namespace

absl::Status bench_exchange(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  C10dOptions options;
  ASSIGN_OR_RETURN(options.environment, read_rank_environment());
  if (options.environment.world_size < 2) {
    return absl::InvalidArgumentError(
        "bench exchange needs ranks: millrace launch -n 2 -- bench exchange");
  }
  options.identity = {.name = "bench exchange", .version = kVersion, .config = ""};
  ASSIGN_OR_RETURN(const std::unique_ptr<Collectives> collectives, connect_c10d(options));
  const int64_t steps = flags.steps > 0 ? flags.steps : kDefaultSteps;
  Work work(kStepMs);
  // All ranks do the work that rank 0 found.
  ASSIGN_OR_RETURN(const std::string rounds,
                   collectives->broadcast(absl::StrCat(work.rounds()), 0));
  work.set_rounds(std::stoll(rounds));
  Measurement times[] = {{"exchange/step_without_exchange", {}, "ms/step", false, {}},
                         {"exchange/step_with_hidden_exchange", {}, "ms/step", false, {}},
                         {"exchange/step_with_synchronous_exchange", {}, "ms/step", false, {}}};
  Measurement added[] = {{"exchange/added_by_hidden_exchange", {}, "%", false, {}},
                         {"exchange/added_by_synchronous_exchange", {}, "%", false, {}}};
  for (int64_t i = 0; i <= flags.repeats; ++i) {
    double taken[kModes];
    for (const Mode mode : {kNone, kHidden, kSynchronous}) {
      ASSIGN_OR_RETURN(taken[mode], measure(*collectives, work, mode, steps));
    }
    if (i == 0) continue;  // warm-up
    for (int mode = 0; mode < kModes; ++mode) times[mode].values.push_back(taken[mode]);
    for (int mode = kHidden; mode < kModes; ++mode) {
      added[mode - 1].values.push_back(100 * (taken[mode] - taken[kNone]) / taken[kNone]);
    }
  }
  if (collectives->rank() != 0) return absl::OkStatus();
  for (Measurement& measurement : times) {
    measurement.parameters["ranks"] = absl::StrCat(collectives->world_size());
    print(measurement);
  }
  for (const Measurement& measurement : added) print(measurement);
  return absl::OkStatus();
}

}  // namespace millrace
