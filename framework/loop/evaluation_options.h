// Sets to evaluate, and options of one evaluation.
#ifndef MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_
#define MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/report/slice_and_span_options.h"
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

struct EvaluationOptions {
  std::string name = "eval";
  std::vector<std::string> tasks;    // names of the labels
  std::vector<std::string> metrics;  // names of metrics
  // Error message for data without examples; "": a generic one.
  std::string no_examples;
  std::vector<CustomConfig> metric_configs;  // messages of metrics
  std::vector<SliceOptions> slices;          // slices without `metrics` use the metrics above
  int64_t max_steps = 0;                     // limit on the batches of each rank; 0: none
  PrecisionConfig::Compute compute = PrecisionConfig::FLOAT32;  // of forward passes
  std::string action = "evaluating";                            // in error messages
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_EVALUATION_OPTIONS_H_
