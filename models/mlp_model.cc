#include "models/mlp_model.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/click_inputs.h"
#include "models/mlp.h"

namespace millrace {
namespace {

std::vector<int64_t> mlp_widths(const MlpConfig& config) {
  return {config.hidden().begin(), config.hidden().end()};
}

absl::Status check_features(const FeatureSchema& schema) {
  if (!schema.sparse().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature \"", schema.sparse()[0].name,
                     "\" is sparse; this model takes dense features only"));
  }
  if (schema.dense().empty()) {
    return absl::InvalidArgumentError("it needs at least one dense feature");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> MlpModel::create(const ModelConfig& config,
                                                        const ModelResources& resources) {
  RETURN_IF_ERROR(check_only_message(config, "millrace.mlp"));
  const MlpConfig& own = config.GetExtension(mlp);
  RETURN_IF_ERROR(check_features(resources.schema));
  const auto inputs = static_cast<int64_t>(resources.schema.dense().size());
  ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
  return std::shared_ptr<Model>(new MlpModel(inputs, own, std::move(tasks)));
}

MlpModel::MlpModel(int64_t inputs, const MlpConfig& config, TaskLosses tasks)
    : tasks_(std::move(tasks)),
      mlp_(register_module(
          "mlp", make_mlp(inputs, mlp_widths(config), tasks_.size(), config.dropout()))) {}

absl::StatusOr<ModelOutput> MlpModel::forward(const Batch& batch) {
  return tasks_.output(mlp_->forward(batch.dense), batch);
}

MILLRACE_REGISTER_MODEL(mlp, "network over dense features alone", &MlpModel::create,
                        ModelLabels::kOfTasks);

}  // namespace millrace
