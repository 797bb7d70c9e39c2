#include "checkpoint/state/state_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/state/table_reader.h"
#include "checkpoint/state/table_tensors.h"
#include "checkpoint/state/torch_types.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

constexpr int64_t kMaxStateBytes = int64_t{1} << 30;

class StateLoad {
 public:
  StateLoad(CheckpointChain chain, const TrainState& target, bool model_only, ModelWeights weights,
            ThreadPool& threads)
      : chain_(chain),
        newest_(*chain.back()),
        target_(target),
        model_only_(model_only),
        weights_(weights),
        threads_(threads) {}

  absl::StatusOr<LoadedState> run() {
    RETURN_IF_ERROR(check_parts());
    RETURN_IF_ERROR(find_averages());
    begin();
    RETURN_IF_ERROR(make_tensors());
    RETURN_IF_ERROR(check_fit());
    if (!model_only_) {
      ASSIGN_OR_RETURN(RankStates states, read_rank_states(newest_));
      loaded_.shared = std::move(states.shared);
      loaded_.ranks = std::move(states.ranks);
    }
    RETURN_IF_ERROR(read_dense());
    RETURN_IF_ERROR(read_tables());
    return std::move(loaded_);
  }

 private:
  void begin() {
    loaded_ = begin_loading(target_);
    const auto& left_out = newest_.manifest().left_out();
    loaded_.left_out = {left_out.begin(), left_out.end()};
    const auto gone = [&](const auto& table) {
      return std::find(left_out.begin(), left_out.end(), table->name()) != left_out.end();
    };
    loaded_.tables.erase(std::remove_if(loaded_.tables.begin(), loaded_.tables.end(), gone),
                         loaded_.tables.end());
  }

  absl::Status check_parts() const {
    std::vector<CheckpointManifest::Part> due = {CheckpointManifest::DENSE,
                                                 CheckpointManifest::ROWS};
    if (!model_only_) {
      due.insert(due.end(), {CheckpointManifest::DENSE_OPTIMIZER, CheckpointManifest::ROW_STATE,
                             CheckpointManifest::TABLE_STATE, CheckpointManifest::RANK_STATE});
    }
    std::vector<std::string> missing;
    for (const CheckpointManifest::Part part : due) {
      if (!has_part(newest_.manifest(), part)) {
        missing.push_back(CheckpointManifest::Part_Name(part));
      }
    }
    if (missing.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        newest_.directory(), " lacks ", absl::StrJoin(missing, ", "),
        model_only_ ? "" : ": it holds the model alone, and training cannot go on from it"));
  }

  // Finds the moving averages in the checkpoint, for kAverage.
  absl::Status find_averages() {
    if (weights_ == ModelWeights::kTrained) return absl::OkStatus();
    for (const File& file : newest_.manifest().files()) {
      if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
      for (const auto& entry : file.tensors()) {
        if (is_of_average(entry.name()) && is_of_model(entry.name())) {
          averages_[entry.name()] = &entry;
        }
      }
    }
    if (!averages_.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(newest_.directory(),
                     " has no moving average of dense parameters: its job was trained without "
                     "train.moving_average; take the trained weights (--weights trained)"));
  }

  // Returns the name in the file of the source of this dense tensor.
  absl::StatusOr<std::string> source_of(const CheckpointManifest::Tensor& tensor) const {
    const auto found = averages_.find(average_name(tensor.name()));
    if (found == averages_.end()) return tensor.name();
    const CheckpointManifest::Tensor& average = *found->second;
    const bool same = average.dtype() == tensor.dtype() &&
                      std::equal(average.shape().begin(), average.shape().end(),
                                 tensor.shape().begin(), tensor.shape().end());
    if (same) return average.name();
    return absl::DataLossError(absl::StrCat(newest_.directory(), ": tensor ", average.name(),
                                            " is of another type or shape than its parameter"));
  }

  bool wanted(absl::string_view name) const {
    return !model_only_ || !absl::StartsWith(name, kOptimizerPrefix);
  }

  // Makes a tensor in memory for each tensor in the manifest.
  absl::Status make_tensors() {
    for (const File& file : newest_.manifest().files()) {
      if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
      for (const auto& entry : file.tensors()) {
        if (!wanted(entry.name())) continue;
        const auto type = tensor_type_of_name(entry.dtype());
        const auto scalar = type ? scalar_type_of(*type) : std::nullopt;
        if (!scalar) {
          return absl::InvalidArgumentError(absl::StrCat(newest_.directory(), ": tensor ",
                                                         entry.name(), " is of ", entry.dtype(),
                                                         ", which no model has"));
        }
        const std::vector<int64_t> shape(entry.shape().begin(), entry.shape().end());
        at::Tensor tensor = at::empty(shape, *scalar);
        ASSIGN_OR_RETURN(const std::string source, source_of(entry));
        data_[source] = static_cast<char*>(tensor.mutable_data_ptr());
        auto& to = absl::StartsWith(entry.name(), kOptimizerPrefix) ? loaded_.optimizer_tensors
                                                                    : loaded_.dense;
        to.push_back({entry.name(), std::move(tensor)});
      }
    }
    return absl::OkStatus();
  }

  // Reports all differences before any data is read.
  absl::Status check_fit() const {
    std::vector<std::string> lines;
    std::map<std::string, const CheckpointManifest::Table*> saved;
    for (const auto& table : newest_.manifest().tables()) saved[table.name()] = &table;
    LoadedState named;  // with the names of the checkpoint's tables
    named.dense = loaded_.dense;
    named.optimizer_tensors = loaded_.optimizer_tensors;
    named.left_out = loaded_.left_out;
    std::vector<std::string> names;
    for (const EmbeddingTable* table : target_.tables) {
      names.push_back(table->name());
      const auto found = saved.find(table->name());
      if (found == saved.end()) continue;
      for (std::string& line : table_differences(*found->second, *table, !model_only_)) {
        lines.push_back(std::move(line));
      }
      named.tables.push_back(table->make_empty());
      saved.erase(found);
    }
    for (const auto& [name, table] : saved) {
      lines.push_back(absl::StrCat("table ", name, " of the checkpoint is not in the model",
                                   did_you_mean(name, names)));
    }
    TrainState expected = target_;
    if (model_only_) {
      expected.dense_optimizers.clear();
      expected.average = nullptr;
    }
    for (std::string& line : state_differences(expected, named)) lines.push_back(std::move(line));
    if (lines.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        newest_.directory(), " is of another model, in ", lines.size(),
        lines.size() == 1 ? " point: " : " points:\n  ", absl::StrJoin(lines, "\n  ")));
  }

  absl::Status read_dense() {
    for (const File& file : newest_.manifest().files()) {
      if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
      RETURN_IF_ERROR(newest_.read_tensors(
          file,
          [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) {
            const auto found = data_.find(tensor.name);
            if (found != data_.end()) {
              std::memcpy(found->second + begin, bytes.data(), bytes.size());
            }
            return absl::OkStatus();
          },
          threads_));
    }
    return absl::OkStatus();
  }

  // Reads several tables in parallel, each by one thread; reads a single table by all threads.
  absl::Status read_tables() {
    const auto count = static_cast<int64_t>(loaded_.tables.size());
    std::vector<absl::StatusOr<PlacedRows>> placed(count, PlacedRows());
    const auto read = [&](int64_t t, ThreadPool& threads) {
      placed[t] = catch_exceptions([&] { return read_rows(*loaded_.tables[t], threads); });
    };
    if (count == 1) {
      read(0, threads_);
    } else {
      threads_.parallel_for(count, [&](int64_t t) {
        ThreadPool alone(1);
        read(t, alone);
      });
    }
    for (absl::StatusOr<PlacedRows>& rows : placed) {
      RETURN_IF_ERROR(rows.status());
      loaded_.rows.push_back(*std::move(rows));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PlacedRows> read_rows(EmbeddingTable& table, ThreadPool& threads) const {
    TableReaderOptions options;
    options.table = table.name();
    options.row_state = !model_only_;
    options.table_state = !model_only_;
    return read_table_chain(chain_, options, table, threads);
  }

  const CheckpointChain chain_;
  const CheckpointReader& newest_;
  const TrainState& target_;
  const bool model_only_;
  const ModelWeights weights_;
  ThreadPool& threads_;
  LoadedState loaded_;
  // Tensors that are read in place of parameters, by name.
  std::map<std::string, const CheckpointManifest::Tensor*> averages_;
  std::map<std::string, char*> data_;  // of dense tensors, by name in the file
};

}  // namespace

absl::StatusOr<RankStates> read_rank_states(const CheckpointReader& checkpoint) {
  const CheckpointManifest& manifest = checkpoint.manifest();
  RankStates states;
  states.ranks.resize(manifest.world_size());
  for (const File& file : manifest.files()) {
    if (file.kind() != CheckpointManifest::STATE_FILE) continue;
    ASSIGN_OR_RETURN(const std::string bytes, checkpoint.read_all(file, kMaxStateBytes));
    CheckpointState state;
    if (!state.ParseFromString(bytes) || state.rank() != file.rank() ||
        state.world_size() != manifest.world_size() || state.has_shared() != (file.rank() == 0)) {
      return absl::DataLossError(absl::StrCat(join_path(checkpoint.directory(), file.name()),
                                              " is not the state of its rank"));
    }
    if (state.has_shared()) states.shared = std::move(*state.mutable_shared());
    states.ranks[file.rank()] = std::move(*state.mutable_state());
  }
  if (states.shared.progress().step() == manifest.progress().step()) return states;
  return absl::DataLossError(absl::StrCat(checkpoint.directory(), ": the manifest is of step ",
                                          manifest.progress().step(), ", the state of step ",
                                          states.shared.progress().step()));
}

absl::StatusOr<LoadedState> read_state(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads) {
  return StateLoad(chain, target, /*model_only=*/false, ModelWeights::kTrained, threads).run();
}

absl::StatusOr<LoadedState> read_model(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads, ModelWeights weights) {
  return StateLoad(chain, target, /*model_only=*/true, weights, threads).run();
}

}  // namespace millrace
