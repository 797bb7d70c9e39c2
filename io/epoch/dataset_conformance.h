// The conformance suite of datasets.
#ifndef MILLRACE_IO_EPOCH_DATASET_CONFORMANCE_H_
#define MILLRACE_IO_EPOCH_DATASET_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "io/dataset.h"
#include "io/epoch/dataset_options.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct DatasetConformance {
  // Makes the dataset under test, a new one at each call. Its examples have distinct ids.
  std::function<std::unique_ptr<Dataset>(const DatasetOptions& options)> make;
  // The schema, and all other options that `make` reads. The suite sets batch size, drop_remainder,
  // rank, world size, threads and prefetched batches.
  DatasetOptions options = {};
  // The number of examples of an epoch, over all ranks: at least 20, at most 10,000.
  int64_t examples = 0;
  // False if seek() is Unimplemented.
  bool has_positions = true;
};

// Returns the promises of Dataset: an epoch has the same batches each time, also from a new
// instance and with other numbers of threads; batches have the form of io/batch.h and at most
// batch_size examples; all ranks together have every example once; an epoch that ended stays so;
// drop_remainder gives whole batches alone; identity() is the same for each instance; cancel() ends
// next() for good, also one that runs; and, with positions, seek() to a cursor continues behind its
// batch, byte for byte, with other numbers of ranks every example once, and refuses cursors that do
// not fit the data.
std::vector<Property> dataset_properties(const DatasetConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kQueue = register_dataset_conformance(
//       "Queue", {.make = open_queue, .options = queue_options(), .examples = 500});
bool register_dataset_conformance(const std::string& suite, const DatasetConformance& conformance,
                                  std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_DATASET_CONFORMANCE_H_
