#include "framework/loop/trained_model.h"

#include <torch/nn/module.h>

#include "embedding/embedding_collection.h"

namespace millrace {

MovingAverage* TrainedModel::evaluated_average() const {
  return average != nullptr && average->evaluates() ? average.get() : nullptr;
}

TrainState TrainedModel::tensors_and_tables() const {
  TrainState state;
  state.dense = model_parts.parameters;
  for (const auto& buffer : model->named_buffers()) {
    state.dense.push_back({buffer.key(), buffer.value()});
  }
  for (const auto& optimizer : dense_optimizers) {
    state.dense_optimizers.push_back(optimizer.get());
  }
  state.average = average.get();
  for (const EmbeddingCollection* collection : model_parts.collections) {
    for (const auto& table : collection->tables()) state.tables.push_back(table.get());
  }
  return state;
}

}  // namespace millrace
