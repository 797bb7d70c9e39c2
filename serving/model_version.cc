#include "serving/model_version.h"

#include <ATen/ops/empty.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/inspect/table_scan.h"
#include "checkpoint/state/torch_types.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using Chain = absl::Span<const std::unique_ptr<CheckpointReader>>;

constexpr char kWeights[] = "weights";

// `data_begin`: of the data of all tensors in `file`.
absl::StatusOr<at::Tensor> read_tensor(const ChunkedFile& file, int64_t data_begin,
                                       const TensorInfo& info) {
  const auto type = scalar_type_of(info.type);
  if (!type.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.name, " has a type that LibTorch does not have"));
  }
  at::Tensor tensor = at::empty(info.shape, at::TensorOptions(*type));
  auto* const data = static_cast<char*>(tensor.mutable_data_ptr());
  RETURN_IF_ERROR(file.read(data_begin + info.begin,
                            absl::MakeSpan(data, static_cast<size_t>(info.size_bytes()))));
  return tensor;
}

// Reads parameters and buffers, or their averages.
absl::Status read_dense(const CheckpointReader& checkpoint, bool averages,
                        std::map<std::string, at::Tensor>* dense) {
  for (const auto& file : checkpoint.manifest().files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint.layout(file));
    ASSIGN_OR_RETURN(const auto opened, checkpoint.open_file(file));
    for (const TensorInfo& info : layout.tensors()) {
      const bool is_average = absl::StartsWith(info.name, kOptimizerPrefix);
      if (is_average && (!averages || !is_of_model(info.name))) continue;
      ASSIGN_OR_RETURN((*dense)[info.name], read_tensor(*opened, layout.data_begin(), info));
    }
  }
  if (!averages) return absl::OkStatus();
  for (auto& [name, tensor] : *dense) {
    const auto average = dense->find(average_name(name));
    if (average != dense->end()) tensor = average->second;
  }
  std::erase_if(*dense,
                [](const auto& entry) { return absl::StartsWith(entry.first, kOptimizerPrefix); });
  return absl::OkStatus();
}

// Reads the rows that the checkpoints of `chain` hold; their last content.
absl::StatusOr<ServedTable::Parts> read_parts(Chain chain, const std::string& table,
                                              int64_t* row_bytes) {
  ASSIGN_OR_RETURN(const auto scan, TableScan::open(chain, table, {kWeights}));
  *row_bytes = scan->columns().front().row_bytes();
  ServedTable::Parts parts;
  for (RowBlock block;;) {
    RETURN_IF_ERROR(scan->next(&block));
    if (block.rows() == 0) return parts;
    ServedTable::add(block.ids, block.columns.front(), *row_bytes, &parts);
  }
}

absl::Status check_served(const CheckpointManifest& manifest) {
  if (!manifest.left_out().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it was saved without ", absl::StrJoin(manifest.left_out(), ", "),
                     " (run.checkpoint.exclude), which a served model needs"));
  }
  if (has_part(manifest, CheckpointManifest::DENSE) &&
      has_part(manifest, CheckpointManifest::ROWS)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("it lacks dense tensors or rows");
}

// Sets what a manifest says of a version.
void describe(const CheckpointReader& checkpoint, ModelVersion* version) {
  const CheckpointManifest& manifest = checkpoint.manifest();
  version->path = checkpoint.directory();
  version->digest = manifest.digest();
  version->created = manifest.created();
  version->step = manifest.progress().step();
  version->text_columns.clear();
  for (const DataIdentity::Column& column : manifest.train_columns()) {
    version->text_columns[column.name()] = column.cells() == DataIdentity::TEXT;
  }
  version->content.clear();
  for (const auto& digest : manifest.content_digests()) {
    absl::StrAppend(&version->content, digest.name(), " ", digest.digest(), "\n");
  }
}

bool uses_averages(const TrainConfig& train) {
  return train.has_moving_average() && train.moving_average().evaluate();
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_chain(FileSystem& files, Chain chain) {
  const CheckpointReader& newest = *chain.back();
  const CheckpointManifest& manifest = newest.manifest();
  RETURN_IF_ERROR(check_served(manifest));
  auto version = std::make_shared<ModelVersion>();
  describe(newest, version.get());
  auto train = std::make_shared<TrainConfig>();
  RETURN_IF_ERROR(parse_text(manifest.config(), "its configuration", train.get()));
  ASSIGN_OR_RETURN(const auto vocabularies, find_vocabularies(*train, files));
  RETURN_IF_ERROR(check_vocabularies(manifest, vocabularies));
  RETURN_IF_ERROR(read_dense(newest, uses_averages(*train), &version->dense));
  for (const auto& table : manifest.tables()) {
    int64_t row_bytes = 0;
    ASSIGN_OR_RETURN(ServedTable::Parts parts, read_parts(chain, table.name(), &row_bytes));
    version->tables[table.name()] = std::make_shared<ServedTable>(row_bytes, std::move(parts));
  }
  version->train = std::move(train);
  return version;
}

}  // namespace

bool have_one_model(const TrainConfig& a, const TrainConfig& b) {
  const auto model_of = [](const TrainConfig& train) {
    TrainConfig model;
    *model.mutable_feature() = train.feature();
    *model.mutable_table() = train.table();
    *model.mutable_task() = train.task();
    *model.mutable_model() = train.model();
    *model.mutable_precision() = train.precision();
    model.set_seed(train.seed());
    return model.SerializeAsString();
  };
  return model_of(a) == model_of(b) && uses_averages(a) == uses_averages(b);
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_version(FileSystem& files,
                                                                 const std::string& path) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(files, path));
  return load_version(files, chain);
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_version(FileSystem& files, Chain chain) {
  auto version = load_chain(files, chain);
  return version.ok() ? std::move(version) : annotate(version.status(), chain.back()->directory());
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> apply_deltas(
    std::shared_ptr<const ModelVersion> version, Chain deltas) {
  for (const auto& delta : deltas) {
    const CheckpointManifest& manifest = delta->manifest();
    if (manifest.base().digest() != version->digest) {
      return absl::InvalidArgumentError(absl::StrCat(delta->directory(), " is a delta on step ",
                                                     manifest.base().step(), ", not on ",
                                                     version->path));
    }
    RETURN_IF_ERROR(check_served(manifest), delta->directory());
    TrainConfig train;
    RETURN_IF_ERROR(parse_text(manifest.config(), delta->directory(), &train));
    if (!have_one_model(train, *version->train)) {
      return absl::InvalidArgumentError(
          absl::StrCat(delta->directory(), " has another model than ", version->path));
    }
    auto next = std::make_shared<ModelVersion>(*version);
    describe(*delta, next.get());
    next->dense.clear();
    RETURN_IF_ERROR(read_dense(*delta, uses_averages(*next->train), &next->dense));
    for (auto& [name, table] : next->tables) {
      int64_t row_bytes = 0;
      ASSIGN_OR_RETURN(ServedTable::Parts changed, read_parts({&delta, 1}, name, &row_bytes));
      if (row_bytes != table->row_bytes()) {
        return absl::InvalidArgumentError(
            absl::StrCat(delta->directory(), ": table ", name, " has rows of another size"));
      }
      ASSIGN_OR_RETURN(const std::vector<int64_t> removed, read_tombstones(*delta, name));
      ServedTable::add_removed(removed, row_bytes, &changed);
      table = table->with_delta(changed);
    }
    version = std::move(next);
  }
  return version;
}

std::shared_ptr<const ModelVersion> same_content(const ModelVersion& version,
                                                 const CheckpointReader& checkpoint) {
  auto again = std::make_shared<ModelVersion>(version);
  describe(checkpoint, again.get());
  const bool is_same =
      again->step == version.step && again->content == version.content && !again->content.empty();
  return is_same ? again : nullptr;
}

std::shared_ptr<const ModelVersion> merge_part(const ModelVersion& version, int part) {
  std::shared_ptr<ModelVersion> next;
  for (const auto& [name, table] : version.tables) {
    std::shared_ptr<const ServedTable> merged = table->merged(part);
    if (merged == nullptr) continue;
    if (next == nullptr) next = std::make_shared<ModelVersion>(version);
    next->tables[name] = std::move(merged);
  }
  return next;
}

}  // namespace millrace
