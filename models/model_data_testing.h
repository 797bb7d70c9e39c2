// Jobs and batches for tests of models.
#ifndef MILLRACE_MODELS_MODEL_DATA_TESTING_H_
#define MILLRACE_MODELS_MODEL_DATA_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "io/batch.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns a job with sparse features s0, s1, ... and tables of the same names, dense features d0,
// d1, ... and label "y". Initial values of rows are in [-0.5, 0.5).
TrainConfig model_test_config(int sparse, int dense, int dim);

// Returns the resources of a model of this job. REQUIRES: `config` has a valid FeatureSchema.
ModelResources model_test_resources(const TrainConfig& config);

// Returns examples of this job that depend only on `seed`. Every sparse feature of example e has
// one id, e; only s0 of example 0 has none and s0 of example 1 has two.
Batch model_test_batch(uint64_t seed, int64_t size, int sparse, int dense);

// Returns a parameter by name. REQUIRES: the parameter exists.
at::Tensor parameter(const Model& model, const std::string& name);

// Computes x W^T + b in double, then ReLU if requested, for the layer whose parameters begin with
// `prefix`.
std::vector<double> plain_linear(const Model& model, const std::string& prefix,
                                 const std::vector<double>& x, bool relu);

// Adds label "z" to a job, which examples may lack and which is learnt with Huber's loss of weight
// 0.5.
void add_test_label(TrainConfig& config);

// Calls create_model() for the job of `config`. Errors: as create_model().
absl::StatusOr<std::shared_ptr<Model>> make_test_model(const ModelConfig& model,
                                                       const TrainConfig& config,
                                                       uint64_t seed = 1);

}  // namespace millrace

#endif  // MILLRACE_MODELS_MODEL_DATA_TESTING_H_
