// Datasets from outside, by name.
#ifndef MILLRACE_IO_EPOCH_DATASET_REGISTRY_H_
#define MILLRACE_IO_EPOCH_DATASET_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "io/dataset.h"
#include "io/epoch/dataset_options.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Makes a dataset. `config` has the extension that the part reads. Of `options`, `data` has
// batch_size, drop_remainder and shuffle_rows; `schema`, `seed`, `rank`, `world_size`, `labels`,
// `labels_of`, `labels_may_miss`, `reader_threads`, `prefetch_batches` and `files` are the options
// of the job. A dataset has no windows.
using DatasetFactory = std::function<absl::StatusOr<std::unique_ptr<Dataset>>(
    const CustomConfig& config, const DatasetOptions& options)>;

// Returns the registry of datasets.
CustomRegistry<DatasetFactory>& dataset_registry();

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_DATASET(queue, "examples of a queue", &QueueDataset::create);
#define MILLRACE_REGISTER_DATASET(name, description, factory) \
  MILLRACE_REGISTER_PART(dataset, name, #name, description, factory)

#endif  // MILLRACE_IO_EPOCH_DATASET_REGISTRY_H_
