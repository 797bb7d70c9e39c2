// The conformance suite of models.
#ifndef MILLRACE_MODELS_MODEL_CONFORMANCE_H_
#define MILLRACE_MODELS_MODEL_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "framework/model/model.h"
#include "io/batch.h"
#include "proto/config.pb.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// Returns the logit of one example by a formula in double. `pooled`: the pooled rows of the model's
// tables for the batch, float32 [examples, features x pooled_dim]; undefined without sparse
// features.
using PlainLogit =
    std::function<double(const Model&, const at::Tensor& pooled, const Batch&, int64_t example)>;

struct ModelConformance {
  // Returns the configuration of the model under test, which names a registered model. Called when
  // a test runs.
  std::function<ModelConfig()> config;
  // Features of the job, see model_test_config(). Their tables have a dim of 4.
  int sparse = 3;
  int dense = 2;
  // Columns of the model's tables for a configured dim of 4.
  int pooled_dim = 4;
  // The reference. Null: the suite compares no formula.
  PlainLogit plain_logit = nullptr;
  // False for a model with only one label.
  bool learns_several_tasks = true;
};

// Returns the promises of a model of binary labels: outputs of the shape of the batch, also without
// examples; the loss and predictions of `plain_logit` with and without weights; gradients of all
// parameters and of the tables that agree with differences of the loss; equal parameters from equal
// seeds; an evaluation that changes nothing; and on two labels, of which examples may lack the
// second, targets, losses and gradients of each.
std::vector<Property> model_properties(const ModelConformance& conformance);

// Registers model_properties() as tests of `suite`, see register_properties(). The test must link
// the model.
//
//   [[maybe_unused]] const bool kMyModel =
//       register_model_conformance("MyModel", {.config = small_config, .plain_logit = logit});
bool register_model_conformance(const std::string& suite, const ModelConformance& conformance,
                                std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_MODELS_MODEL_CONFORMANCE_H_
