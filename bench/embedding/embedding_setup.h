// The common set-up of benchmarks of embedding tables.
#ifndef MILLRACE_BENCH_EMBEDDING_EMBEDDING_SETUP_H_
#define MILLRACE_BENCH_EMBEDDING_EMBEDDING_SETUP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/isa/instruction_set.h"
#include "bench/embedding/embedding_files.h"
#include "bench/embedding/embedding_workload.h"
#include "embedding/collection_options.h"
#include "io/batch.h"
#include "proto/config.pb.h"

namespace millrace {

// Number of batches that a benchmark uses in turn.
inline constexpr int64_t kEmbeddingBatches = 8;
// Number of steps of a --check, by default.
inline constexpr int64_t kCheckedSteps = 20;

// Files of --data; see bench_embedding().
inline constexpr char kRowsFile[] = "rows.i64";
inline constexpr char kGradientFile[] = "gradient.f32";
inline constexpr char kBeforeFile[] = "before.f32";
inline constexpr char kAfterFile[] = "after.f32";

// Returns a configuration with the optimizer of this name, its defaults, and a fixed learning rate.
// Errors: InvalidArgument for an unknown name, with the nearest one.
absl::StatusOr<SparseOptimizerConfig> sparse_optimizer_named(const std::string& name);

// Returns the options of a collection of shape.tables tables, each read by one feature.
EmbeddingCollectionOptions collection_options(const EmbeddingShape& shape, int64_t threads,
                                              InstructionSet set);

at::Tensor int64_tensor(const std::vector<int64_t>& values);
// Returns `lists` lists of the same number of ids.
KeyedJagged lists_of_equal_length(const std::vector<int64_t>& ids, int64_t lists);
// Returns the ids of examples `begin` to `end` of a batch. `rows`: as
// EmbeddingWorkload::batch_rows().
KeyedJagged examples_of(const EmbeddingWorkload& workload, const std::vector<int64_t>& rows,
                        int64_t begin, int64_t end);

// Opens the files of --data, and with `check` also the files of --check. Errors: as
// EmbeddingFiles::open().
absl::StatusOr<EmbeddingFiles> open_embedding_files(const std::string& directory, bool check,
                                                    bool overwrite);
// Writes the row numbers of all batches and the gradient. Errors: as EmbeddingFiles::write().
absl::Status write_batches(const EmbeddingWorkload& workload, EmbeddingFiles& files);

}  // namespace millrace

#endif  // MILLRACE_BENCH_EMBEDDING_EMBEDDING_SETUP_H_
