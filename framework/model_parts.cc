#include "framework/model_parts.h"

#include "embedding/embedding_collection.h"
#include "framework/model.h"

namespace millrace {

std::vector<EmbeddingCollection*> collections_of(Model& model) {
  std::vector<EmbeddingCollection*> collections;
  for (const std::shared_ptr<torch::nn::Module>& module : model.modules()) {
    if (auto* collection = dynamic_cast<EmbeddingCollection*>(module.get())) {
      collections.push_back(collection);
    }
  }
  return collections;
}

std::vector<NamedParameter> parameters_of(Model& model) {
  std::vector<NamedParameter> parameters;
  for (const auto& parameter : model.named_parameters()) {
    parameters.push_back({parameter.key(), parameter.value()});
  }
  return parameters;
}

}  // namespace millrace
