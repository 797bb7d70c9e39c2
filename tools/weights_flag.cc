#include "tools/weights_flag.h"

#include <CLI/CLI.hpp>

#include "job/job_checkpoints.h"

namespace millrace {
namespace {

constexpr char kAverage[] = "average", kTrained[] = "trained";

}  // namespace

void add_weights_flag(CLI::App& command, std::string& weights) {
  command
      .add_option("--weights", weights,
                  "dense weights to take: average (train.moving_average) or trained; default: "
                  "average if the configuration has moving_average with evaluate, else trained")
      ->check(CLI::IsMember({kAverage, kTrained}));
}

ModelWeights chosen_weights(const std::string& weights, const TrainConfig& train) {
  if (weights.empty()) return default_weights(train);
  return weights == kAverage ? ModelWeights::kAverage : ModelWeights::kTrained;
}

}  // namespace millrace
