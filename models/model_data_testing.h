// Jobs and batches for tests of models.
#ifndef MILLRACE_MODELS_MODEL_DATA_TESTING_H_
#define MILLRACE_MODELS_MODEL_DATA_TESTING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/model.h"
#include "framework/model_registry.h"
#include "io/batch.h"
#include "proto/config.pb.h"

namespace millrace {

// A job with features s0, s1, ... with tables of their names, d0, d1, ... and label "y".
// Rows begin in [-0.5, 0.5).
TrainConfig model_test_config(int sparse, int dense, int dim);

// What its model is built from. REQUIRES: `config` makes a FeatureSchema.
ModelResources model_test_resources(const TrainConfig& config);

// Examples of that job that follow from `seed`; every sparse feature of example e has the one id e,
// except that s0 of example 0 has none and s0 of example 1 has two.
Batch model_test_batch(uint64_t seed, int64_t size, int sparse, int dense);

// A parameter by name. REQUIRES: it exists.
at::Tensor parameter(const Model& model, const std::string& name);

// x W^T + b in double, then ReLU if asked for: the layer whose parameters begin with `prefix`.
std::vector<double> plain_linear(const Model& model, const std::string& prefix,
                                 const std::vector<double>& x, bool relu);

// Adds label "z" to a job, which examples may lack and which is learnt with Huber's loss of weight
// 0.5.
void add_test_label(TrainConfig& config);

// What every ready model must hold on a job with two labels, `job` of add_test_label: predictions
// of both, targets that are the labels there are, losses of each, gradients of all parameters for
// the two together and for each alone, and the same on a batch without examples.
void test_tasks(const ModelConfig& config, const TrainConfig& job);

// What every ready model must hold, on a job of 3 sparse and 2 dense features: shapes; the loss of
// `plain_logit` over all examples with and without weights; gradients of all parameters and
// of the tables against differences of the loss; an empty batch; equal parameters from equal seeds;
// evaluation changes nothing. `pooled_dim` is that of its tables for a configured dim of 4.
void test_model_conformance(
    const ModelConfig& config, int pooled_dim,
    const std::function<double(const Model&, const at::Tensor& pooled, const Batch&,
                               int64_t example)>& plain_logit);

// create_model on `config`'s job. Errors: its.
absl::StatusOr<std::shared_ptr<Model>> make_test_model(const ModelConfig& model,
                                                       const TrainConfig& config,
                                                       uint64_t seed = 1);

}  // namespace millrace

#endif  // MILLRACE_MODELS_MODEL_DATA_TESTING_H_
