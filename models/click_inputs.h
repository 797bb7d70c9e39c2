// Requirements of the ready models on the features of a job.
#ifndef MILLRACE_MODELS_CLICK_INPUTS_H_
#define MILLRACE_MODELS_CLICK_INPUTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/model/model_registry.h"
#include "proto/config.pb.h"

namespace millrace {

// Sizes of a model whose pooled sparse features have equal dimensions.
struct ClickInputs {
  int64_t sparse = 0;  // features, at least 1
  int64_t dense = 0;   // features
  int64_t dim = 0;     // columns of each table
};

// Checks the features and returns their sizes. Errors: InvalidArgument, naming features and tables,
// for no sparse feature, pooling NONE or FIRST_N, a missing table, and tables of unequal
// dimensions.
absl::StatusOr<ClickInputs> check_click_inputs(const ModelResources& resources);

// Checks that `config` has no message of a model other than `own` ("millrace.deepfm"), since the
// message would have no effect. Errors: InvalidArgument.
absl::Status check_only_message(const ModelConfig& config, absl::string_view own);

}  // namespace millrace

#endif  // MILLRACE_MODELS_CLICK_INPUTS_H_
