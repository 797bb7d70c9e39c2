#include "models/click_inputs.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

const TableConfig* find_table(const EmbeddingCollectionOptions& options, absl::string_view name) {
  for (const TableConfig& table : options.tables) {
    if (table.name() == name) return &table;
  }
  return nullptr;
}

std::string dim_text(const TableConfig& table) {
  return absl::StrCat("\"", table.name(), "\" has dim ", table.dim());
}

}  // namespace

absl::StatusOr<ClickInputs> check_click_inputs(const ModelResources& resources) {
  const EmbeddingCollectionOptions& options = resources.embeddings;
  if (options.features.empty()) {
    return absl::InvalidArgumentError("it needs at least one sparse feature");
  }
  const TableConfig* first = nullptr;
  for (const EmbeddingFeature& feature : options.features) {
    if (feature.pooling == NONE) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature \"", feature.name, "\" has pooling NONE; this model takes pooled features"));
    }
    if (feature.pooling == FIRST_N) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature \"", feature.name, "\" has pooling FIRST_N, ", feature.max_ids,
          " rows side by side; this model takes one row per feature: SUM, MEAN or SQUARE_ROOT_N"));
    }
    const TableConfig* table = find_table(options, feature.table);
    if (table == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("feature \"", feature.name,
                                                     "\" names table \"", feature.table,
                                                     "\", which is not there"));
    }
    // The models multiply and add rows of different features, so all tables need one dimension.
    if (first == nullptr) first = table;
    if (table->dim() != first->dim()) {
      return absl::InvalidArgumentError(absl::StrCat("all tables must have one dim, but table ",
                                                     dim_text(*first), " and ", dim_text(*table)));
    }
  }
  return ClickInputs{.sparse = static_cast<int64_t>(options.features.size()),
                     .dense = static_cast<int64_t>(resources.schema.dense().size()),
                     .dim = first->dim()};
}

absl::Status check_only_message(const ModelConfig& config, absl::string_view own) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  config.GetReflection()->ListFields(config, &fields);
  for (const auto* field : fields) {
    if (!field->is_extension() || field->full_name() == std::string(own)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("[", field->full_name(), "] is not its message; it takes [", own, "]"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
