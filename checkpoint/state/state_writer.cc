#include "checkpoint/state/state_writer.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/state/savable_type.h"
#include "checkpoint/state/state_messages.h"

namespace millrace {
namespace {

absl::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

absl::StatusOr<StateWriter> StateWriter::create(FrozenState state,
                                                const StateWriterOptions& options,
                                                ThreadPool& threads) {
  StateWriter writer;
  *writer.manifest_.mutable_progress() = to_manifest(state.shared.progress());
  if (state.shared.finished()) writer.manifest_.set_finished(true);
  *writer.manifest_.mutable_referred_files() = state.shared.began_with();
  for (const DataIdentity::Column& column : state.shared.train_data().column()) {
    if (column.cells() == DataIdentity::UNKNOWN_CELLS) continue;
    // Earlier versions refuse fields of manifests that they do not know; the state files have all.
    DataIdentity::Column& added = *writer.manifest_.add_train_columns();
    added = column;
    added.clear_time();
  }
  if (state.shared.has_best()) *writer.manifest_.mutable_best() = state.shared.best();
  if (options.base.has_value()) *writer.manifest_.mutable_base() = *options.base;
  writer.manifest_.add_parts(CheckpointManifest::DENSE);
  writer.manifest_.add_parts(CheckpointManifest::DENSE_OPTIMIZER);
  writer.manifest_.add_parts(CheckpointManifest::ROWS);
  writer.manifest_.add_parts(CheckpointManifest::ROW_STATE);
  writer.manifest_.add_parts(CheckpointManifest::TABLE_STATE);
  writer.manifest_.add_parts(CheckpointManifest::RANK_STATE);
  writer.manifest_.mutable_left_out()->Add(state.left_out.begin(), state.left_out.end());
  if (options.rank == 0) RETURN_IF_ERROR(writer.plan_dense(state));
  RETURN_IF_ERROR(writer.plan_tables(state, options, threads));

  CheckpointState rank_state;
  rank_state.set_rank(options.rank);
  rank_state.set_world_size(options.world_size);
  if (options.rank == 0) *rank_state.mutable_shared() = state.shared;
  *rank_state.mutable_state() = state.rank;
  if (!rank_state.SerializeToString(&writer.rank_state_)) {
    return absl::InvalidArgumentError("the state of hooks and data is beyond 2 GiB");
  }
  rank_state.mutable_shared()->mutable_progress()->clear_elapsed_nanoseconds();
  rank_state.mutable_state()->mutable_report()->clear_data_wait_nanoseconds();
  rank_state.mutable_state()->mutable_report()->clear_trained_nanoseconds();
  writer.manifest_.add_state_digests(format_digest(xxh3_128(rank_state.SerializeAsString())));
  writer.rank_state_name_ = state_file_name(options.rank, options.world_size);
  return writer;
}

void StateWriter::add_digest(const std::string& name, absl::uint128 digest) {
  CheckpointManifest::ContentDigest* entry = manifest_.add_content_digests();
  entry->set_name(name);
  entry->set_digest(format_digest(digest));
}

absl::Status StateWriter::plan_dense(FrozenState& state) {
  tensors_ = state.dense;
  for (NamedParameter& tensor : state.optimizer_tensors) tensors_.push_back(std::move(tensor));
  std::vector<TensorInfo> infos;
  absl::uint128 digest = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    // These prefixes separate tables and optimizer state from dense tensors within a checkpoint.
    const bool reserved =
        i < state.dense.size() && (absl::StartsWith(tensors_[i].name, "table/") ||
                                   absl::StartsWith(tensors_[i].name, kOptimizerPrefix));
    if (reserved) {
      return absl::InvalidArgumentError(
          absl::StrCat("dense tensor \"", tensors_[i].name,
                       "\" cannot be saved: names that begin with table/ or optimizer/ are taken"));
    }
    ASSIGN_OR_RETURN(const TensorType type, savable_type(tensors_[i]));
    tensors_[i].value = tensors_[i].value.detach().contiguous();
    infos.push_back({tensors_[i].name, type, tensors_[i].value.sizes().vec()});
    digest += dense_tensor_digest(tensors_[i].name, type, infos.back().shape,
                                  bytes_of(tensors_[i].value));
  }
  add_digest("dense", digest);
  ASSIGN_OR_RETURN(dense_,
                   TensorFileLayout::create(std::move(infos), {{kFormatKey, kCheckpointFormat}}));
  return absl::OkStatus();
}

absl::Status StateWriter::plan_tables(FrozenState& state, const StateWriterOptions& options,
                                      ThreadPool& threads) {
  TableWriterOptions table_options;
  if (options.base.has_value()) table_options.since = options.base->step();
  for (size_t t = 0; t < state.tables.size(); ++t) {
    std::unique_ptr<TableSnapshot>& table = state.tables[t];
    if (!options.table_files.empty()) table_options.files = options.table_files[t];
    add_digest(absl::StrCat("table/", table->name()), table->rows().content_digest(threads));
    ASSIGN_OR_RETURN(TableWriter writer,
                     TableWriter::create(std::move(table), table_options, threads));
    *manifest_.add_tables() = writer.entry();
    tables_.push_back(std::move(writer));
  }
  return absl::OkStatus();
}

int64_t StateWriter::size_bytes() const {
  int64_t bytes = static_cast<int64_t>(rank_state_.size());
  if (dense_.has_value()) bytes += dense_->size_bytes();
  for (const TableWriter& table : tables_) bytes += table.size_bytes();
  return bytes;
}

absl::Status StateWriter::write(CommitDirectory& directory, ThreadPool& threads) {
  CommitDirectory::File entry;
  if (dense_.has_value()) {
    std::map<absl::string_view, const char*> data;
    for (const NamedParameter& tensor : tensors_) data[tensor.name] = bytes_of(tensor.value).data();
    entry.set_name(dense_file_name(0, 1));
    entry.set_kind(CheckpointManifest::DENSE_FILE);
    RETURN_IF_ERROR(directory.write_tensors(
        entry, *dense_,
        [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
          std::memcpy(bytes.data(), data.at(tensor.name) + begin, bytes.size());
          return absl::OkStatus();
        },
        threads));
  }
  for (TableWriter& table : tables_) RETURN_IF_ERROR(table.write(directory, threads));
  entry.set_name(rank_state_name_);
  entry.set_kind(CheckpointManifest::STATE_FILE);
  return directory.write(entry, rank_state_);
}

}  // namespace millrace
