// Creates a trainer of a tiny model and fake data in one call.
#ifndef MILLRACE_TESTS_FAKES_TINY_TRAINER_H_
#define MILLRACE_TESTS_FAKES_TINY_TRAINER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/trainer.h"
#include "proto/config.pb.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {

class Clock;

struct TinyTrainerOptions {
  TrainerOptions trainer;
  FakeDatasetOptions train;
  FakeDatasetOptions eval = {.batches = 2};
  std::string optimizer = "sgd";  // sgd or adam; dense and sparse
  double learning_rate = 0.1;
  std::optional<DenseOptimizerConfig> dense_optimizer;    // overrides `optimizer`; may be frozen
  std::optional<SparseOptimizerConfig> sparse_optimizer;  // overrides `optimizer`
  ClippingConfig clipping;                                // without a limit: none
  std::optional<MovingAverageConfig> moving_average;
  std::function<absl::Status(const Batch&)> on_forward;
  bool gives_targets = false;
  bool counts_targets = false;
  TableConfig table;  // admission, eviction, limit and other options of the table
  Clock* clock = nullptr;
};

// Returns a TinyModel and the other parts of its trainer. If train.sparse > 0, the model has one
// table, "items", of dim 4, which all sparse features share. There is one evaluation set, "eval".
// Aborts the test program if the options are wrong.
TrainerParts tiny_parts(TinyTrainerOptions options = {});

// Returns a trainer of these parts.
std::unique_ptr<Trainer> tiny_trainer(TinyTrainerOptions options = {});

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_TINY_TRAINER_H_
