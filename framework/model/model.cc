#include "framework/model/model.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>

#include "embedding/embedding_collection.h"

namespace millrace {

absl::StatusOr<std::vector<TableLookup>> Model::lookups(const Batch& batch) {
  std::vector<TableLookup> lookups;
  for (EmbeddingCollection* collection : collections_of(*this)) {
    lookups.push_back({collection, batch.sparse});
  }
  return lookups;
}

void Model::move_to(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  to(device);
  for (EmbeddingCollection* collection : collections_of(*this)) {
    collection->set_output_device(device);
  }
  device_ = device;
}

std::vector<EmbeddingCollection*> collections_of(Model& model) {
  std::vector<EmbeddingCollection*> collections;
  for (const std::shared_ptr<torch::nn::Module>& module : model.modules()) {
    if (auto* collection = dynamic_cast<EmbeddingCollection*>(module.get())) {
      collections.push_back(collection);
    }
  }
  return collections;
}

}  // namespace millrace
