#include "bench/embedding/embedding_setup.h"

#include <ATen/ATen.h>
#include <torch/types.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr double kLearningRate = 0.01;

template <typename T>
absl::string_view bytes_of(const std::vector<T>& numbers) {
  return absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                           numbers.size() * sizeof(T));
}

}  // namespace

absl::StatusOr<SparseOptimizerConfig> sparse_optimizer_named(const std::string& name) {
  SparseOptimizerConfig config;
  config.set_learning_rate(kLearningRate);
  const google::protobuf::OneofDescriptor* kinds =
      SparseOptimizerConfig::descriptor()->FindOneofByName("kind");
  std::vector<std::string> known;
  for (int i = 0; i < kinds->field_count(); ++i) {
    known.push_back(kinds->field(i)->name());
    if (known.back() != name) continue;
    config.GetReflection()->MutableMessage(&config, kinds->field(i));
    return config;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--optimizer: no optimizer \"", name, "\"", did_you_mean(name, known)));
}

EmbeddingCollectionOptions collection_options(const EmbeddingShape& shape, int64_t threads,
                                              InstructionSet set) {
  EmbeddingCollectionOptions options;
  options.instruction_set = set;
  options.threads = static_cast<int>(threads);
  for (int64_t t = 0; t < shape.tables; ++t) {
    TableConfig config;
    config.set_name(absl::StrCat("table", t));
    config.set_dim(shape.dim);
    options.tables.push_back(config);
    options.features.push_back({absl::StrCat("feature", t), config.name(), SUM});
  }
  return options;
}

at::Tensor int64_tensor(const std::vector<int64_t>& values) {
  return torch::tensor(values, at::kLong);
}

KeyedJagged lists_of_equal_length(const std::vector<int64_t>& ids, int64_t lists) {
  KeyedJagged result;
  result.values = int64_tensor(ids);
  result.offsets = at::arange(lists + 1, at::kLong) * (static_cast<int64_t>(ids.size()) / lists);
  return result;
}

KeyedJagged examples_of(const EmbeddingWorkload& workload, const std::vector<int64_t>& rows,
                        int64_t begin, int64_t end) {
  const EmbeddingShape& shape = workload.shape();
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(shape.tables * (end - begin) * shape.ids_per_feature));
  for (int64_t table = 0; table < shape.tables; ++table) {
    const int64_t* const of_table = rows.data() + table * shape.batch * shape.ids_per_feature;
    for (int64_t i = begin * shape.ids_per_feature; i < end * shape.ids_per_feature; ++i) {
      ids.push_back(workload.id(table, of_table[i]));
    }
  }
  return lists_of_equal_length(ids, shape.tables * (end - begin));
}

absl::StatusOr<EmbeddingFiles> open_embedding_files(const std::string& directory, bool check,
                                                    bool overwrite) {
  std::vector<std::string> names = {kRowsFile, kGradientFile};
  if (check) names.insert(names.end(), {kBeforeFile, kAfterFile});
  ASSIGN_OR_RETURN(EmbeddingFiles files,
                   EmbeddingFiles::open(FileSystem::local(), directory, names, overwrite),
                   "--data");
  return files;
}

absl::Status write_batches(const EmbeddingWorkload& workload, EmbeddingFiles& files) {
  std::vector<int64_t> rows;
  for (int64_t number = 0; number < kEmbeddingBatches; ++number) {
    const std::vector<int64_t> batch = workload.batch_rows(number);
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  RETURN_IF_ERROR(files.write(kRowsFile, bytes_of(rows)), "--data");
  return annotate(files.write(kGradientFile, bytes_of(workload.gradient())), "--data");
}

}  // namespace millrace
