#include "checkpoint/bank/bank_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/bank/model_bank_check.h"
#include "checkpoint/bank/rows_file.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/state/table_tensors.h"
#include "checkpoint/state/torch_types.h"
#include "embedding/table/table_snapshot.h"

namespace millrace {
namespace {

template <typename Shape>
std::string tensor_shape(absl::string_view type, const Shape& shape) {
  return absl::StrCat(type, " [", absl::StrJoin(shape, ", "), "]");
}

void add_table(const CheckpointManifest::Table& table, std::vector<BankItem>* items) {
  items->push_back(
      {BankItem::kTable, table.name(), absl::StrCat(table.dtype(), " rows of ", table.dim())});
  for (const auto& slot : table.slots()) {
    items->push_back({BankItem::kSlot, absl::StrCat(table.name(), "@", slot.name()),
                      absl::StrCat(slot.size(), " numbers a row")});
  }
}

// Returns "fc.weight@exp_avg" for "optimizer/fc.weight/exp_avg".
std::string optimizer_item(absl::string_view name) {
  const size_t begin = sizeof(kOptimizerPrefix) - 1;
  const size_t end = name.rfind('/');
  return absl::StrCat(name.substr(begin, end - begin), "@", name.substr(end + 1));
}

// Adds the table's last columns that the rows lack, with their initial values.
void add_columns(const EmbeddingTable& table, TableRows* rows) {
  if (rows->dim == table.dim()) return;
  std::vector<float> weights(rows->ids.size() * table.dim());
  for (size_t i = 0; i < rows->ids.size(); ++i) {
    const auto row = absl::MakeSpan(weights).subspan(i * table.dim(), table.dim());
    table.initial_row(rows->ids[i], row);
    std::copy_n(rows->weights.begin() + static_cast<int64_t>(i) * rows->dim, rows->dim,
                row.begin());
  }
  rows->weights = std::move(weights);
  rows->dim = table.dim();
}

// Returns the same version for two saves of one step that differ only in metrics or in the state of
// hooks: a run saves before and after its last evaluation.
std::string content_version(const CheckpointManifest& manifest) {
  if (manifest.content_digests().empty()) return manifest.digest();
  return absl::StrCat("content ", format_digest(combined_content_digest(manifest)));
}

absl::StatusOr<SourcePlace> find_checkpoint(const std::string& path, FileSystem& files,
                                            ThreadPool& threads) {
  const absl::StatusOr<NewestCheckpoint> found =
      open_checkpoint(files, path, Check::kFull, threads);
  if (absl::IsFailedPrecondition(found.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(found.status().message(), " (a file with rows needs rows)"));
  }
  RETURN_IF_ERROR(found.status());
  const CheckpointReader& newest = *found->chain.back();
  SourcePlace place{newest.directory(), content_version(newest.manifest()), {}};
  for (const absl::Status& status : found->damaged) {
    place.passed_over.emplace_back(status.message());
  }
  return place;
}

absl::StatusOr<SourcePlace> find_file(const std::string& path, FileSystem& files) {
  ASSIGN_OR_RETURN(const FileIdentity identity, identify_file(files, path));
  return SourcePlace{path, identity.digest, {}};
}

}  // namespace

std::vector<BankItem> model_items(const TrainState& target) {
  std::vector<BankItem> items;
  for (const NamedParameter& tensor : target.dense) {
    const auto type = tensor_type_of(tensor.value.scalar_type());
    items.push_back({BankItem::kDense, tensor.name,
                     tensor_shape(type ? tensor_type_name(*type) : "?", tensor.value.sizes())});
  }
  for (const EmbeddingTable* table : target.tables) {
    add_table(table_entry(*table->content().view(), /*row_state=*/true), &items);
    items.push_back({BankItem::kAdmission, absl::StrCat(table->name(), "@admission"), ""});
  }
  return items;
}

absl::StatusOr<SourcePlace> find_source(const SourceConfig& config, FileSystem& files,
                                        ThreadPool& threads) {
  absl::StatusOr<SourcePlace> place = config.has_rows()
                                          ? find_file(config.path(), files)
                                          : find_checkpoint(config.path(), files, threads);
  if (absl::IsNotFound(place.status()) && config.optional()) return SourcePlace{};
  return place;
}

absl::StatusOr<std::unique_ptr<BankSource>> BankSource::open(
    const SourceConfig& config, const SourcePlace& place, FileSystem& files,
    const TrainState& target, const std::vector<FeatureConfig>& features) {
  std::unique_ptr<BankSource> source(new BankSource);
  std::string version = place.version;
  if (config.has_rows()) {
    RETURN_IF_ERROR(source->open_rows(config, place.path, files, target, features));
    ASSIGN_OR_RETURN(source->identity_, identify_file(files, place.path));
    version = source->identity_.digest;
  } else {
    ASSIGN_OR_RETURN(source->chain_, open_chain(files, place.path));
    version = content_version(source->checkpoint().manifest());
    RETURN_IF_ERROR(source->check_parts(config));
    source->list_items();
  }
  if (version == place.version) return source;
  return absl::AbortedError(absl::StrCat(place.path, " changed while it was read"));
}

absl::Status BankSource::open_rows(const SourceConfig& config, const std::string& path,
                                   FileSystem& files, const TrainState& target,
                                   const std::vector<FeatureConfig>& features) {
  for (const EmbeddingTable* table : target.tables) {
    if (table->name() != config.rows().table()) continue;
    ASSIGN_OR_RETURN(rows_, read_rows_file(files, path, config.rows(),
                                           {table->dim(), table->added_columns(), features}));
    file_columns_ = rows_.dim;
    add_columns(*table, &rows_);
    add_table(table_entry(*table->content().view(), /*row_state=*/false), &items_);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the model has no table ", config.rows().table()));
}

absl::Status BankSource::check_parts(const SourceConfig& config) const {
  const CheckpointManifest& manifest = checkpoint().manifest();
  const std::pair<SourceConfig::Part, CheckpointManifest::Part> due[] = {
      {SourceConfig::SLOTS, CheckpointManifest::ROW_STATE},
      {SourceConfig::DENSE_OPTIMIZER, CheckpointManifest::DENSE_OPTIMIZER},
      {SourceConfig::PROGRESS, CheckpointManifest::RANK_STATE},
      {SourceConfig::CURSOR, CheckpointManifest::RANK_STATE},
      {SourceConfig::HOOKS, CheckpointManifest::RANK_STATE},
      {SourceConfig::SCHEDULES, CheckpointManifest::RANK_STATE},
  };
  for (const auto& [part, needs] : due) {
    const bool no_tables = part == SourceConfig::SLOTS && manifest.tables().empty();
    if (!gives(config, part) || no_tables || has_part(manifest, needs)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(checkpoint().directory(), " has no ", SourceConfig::Part_Name(part),
                     " (see parts; a model-only checkpoint gives WEIGHTS)"));
  }
  return absl::OkStatus();
}

void BankSource::list_items() {
  const CheckpointManifest& manifest = checkpoint().manifest();
  for (const auto& file : manifest.files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) {
      const bool optimizer = absl::StartsWith(tensor.name(), kOptimizerPrefix);
      items_.push_back({optimizer ? BankItem::kOptimizer : BankItem::kDense,
                        optimizer ? optimizer_item(tensor.name()) : tensor.name(),
                        tensor_shape(tensor.dtype(), tensor.shape())});
    }
  }
  for (const auto& table : manifest.tables()) {
    add_table(table, &items_);
    // The manifest has no field for saved candidates of admission; only names of tensors show them.
    bool counts = false;
    for (const auto& file : manifest.files()) {
      if (file.kind() != CheckpointManifest::TABLE_FILE || file.table() != table.name()) continue;
      for (const auto& tensor : file.tensors()) {
        counts |=
            absl::StartsWith(tensor.name(), absl::StrCat(table_prefix(table.name()), "admission/"));
      }
    }
    if (counts) {
      items_.push_back({BankItem::kAdmission, absl::StrCat(table.name(), "@admission"), ""});
    }
  }
}

}  // namespace millrace
