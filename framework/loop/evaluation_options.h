// Sets to evaluate, and options of one evaluation.
#ifndef MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_
#define MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "framework/report/slice_and_span_options.h"
#include "hook/events.h"
#include "io/dataset.h"
#include "io/windowed_dataset.h"
#include "proto/config.pb.h"

namespace millrace {

// A named data set to evaluate.
struct EvaluationSet {
  std::string name;
  std::unique_ptr<Dataset> data;
  std::vector<std::string> metrics = {};  // names; empty: the trainer's metrics
  std::string no_examples = "";           // see EvaluationOptions
};

// An evaluation set that comes in windows, parallel to the training windows.
struct PairedSet {
  std::string name;
  std::unique_ptr<WindowedDataset> windows;
  std::vector<std::string> metrics = {};  // see EvaluationSet
};

// Limits of one evaluation. 0: none.
struct EvaluationLimits {
  int64_t max_steps = 0;    // batches of each rank
  int64_t max_windows = 0;  // of data in windows
  // A rank reads no batch after this time, so ranks may evaluate unequal shares.
  absl::Duration max_elapsed = absl::ZeroDuration();
};

// Gets each batch of a rank with its predictions, in the order of the data. StepResult::predictions
// are float32 [batch, tasks], on the device of the model. An error ends the prediction.
using PredictionConsumer =
    std::function<absl::Status(const Batch& batch, const StepResult& result)>;

struct EvaluationOptions {
  std::string name = "eval";
  std::vector<std::string> tasks;    // names of the labels
  std::vector<std::string> metrics;  // names of metrics
  // Error message for data without examples; "": a generic one.
  std::string no_examples;
  std::vector<CustomConfig> metric_configs;  // messages of metrics
  std::vector<SliceOptions> slices;          // slices without `metrics` use the metrics above
  EvaluationLimits limits;
  PrecisionConfig::Compute compute = PrecisionConfig::FLOAT32;  // of forward passes
  PredictionConsumer consumer;                                  // null: only metrics
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_
