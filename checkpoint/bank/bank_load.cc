#include "checkpoint/bank/bank_load.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/bank/model_bank_check.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/name_path.h"
#include "checkpoint/state/table_reader.h"
#include "checkpoint/state/torch_types.h"

namespace millrace {
namespace {

// Selection of the parts of a row to copy.
struct RowParts {
  // Number of weights, counted from the first, that replace the weights of an existing row; -1:
  // all. A new row gets all weights.
  int64_t columns = -1;
  bool frequency = false;
  bool last_step = false;
  std::set<std::string> slots;
};

RowParts all_parts(const EmbeddingTable& table) {
  RowParts parts = {.frequency = true, .last_step = true, .slots = {}};
  for (const SlotSpec& slot : table.slots()) parts.slots.insert(slot.name);
  return parts;
}

// Adds the rows of one table to another table of the same kind, or replaces its rows. New rows get
// `step` if their last step is not copied.
absl::Status copy_rows(const EmbeddingTable& from, const RowParts& parts, int64_t step,
                       EmbeddingTable& to) {
  const RowStore& there = from.content().rows();
  std::vector<RowIndex> sources;
  std::vector<int64_t> ids;
  for (RowIndex row = 0; row < there.end(); ++row) {
    if (!there.in_use(row)) continue;
    sources.push_back(row);
    ids.push_back(there.id(row));
  }
  // Finds existing rows before place_rows() adds the others: an existing row takes only the chosen
  // columns, a new row takes all of them.
  std::vector<RowIndex> before(ids.size());
  to.find(ids, absl::MakeSpan(before));
  ASSIGN_OR_RETURN(const std::vector<RowIndex> rows, to.content().place_rows(ids));
  for (size_t i = 0; i < rows.size(); ++i) {
    const char* source = there.record(sources[i]);
    const MutableRow row = to.content().mutable_row(rows[i]);
    int64_t at = there.weight_bytes();
    const bool some = before[i] != kNoRow && parts.columns >= 0;
    std::memcpy(row.record, source, some ? parts.columns * row_type_bytes(there.type()) : at);
    for (const SlotSpec& slot : to.slots()) {
      if (parts.slots.count(slot.name) > 0) {
        std::memcpy(row.record + at, source + at, 4 * slot.size);
      }
      at += 4 * slot.size;
    }
    if (parts.frequency) row.meta.frequency = there.frequency(sources[i]);
    if (parts.last_step) {
      row.meta.last_step = there.last_step(sources[i]);
    } else if (before[i] == kNoRow) {
      row.meta.last_step = static_cast<uint32_t>(step);
    }
  }
  return absl::OkStatus();
}

class BankLoad {
 public:
  BankLoad(const ModelBankConfig& config, const BankPlan& plan,
           absl::Span<const std::unique_ptr<BankSource>> sources, const TrainState& target,
           const BankLoadOptions& options, ThreadPool& threads)
      : config_(config),
        plan_(plan),
        sources_(sources),
        target_(target),
        options_(options),
        threads_(threads) {}

  absl::StatusOr<LoadedState> run() {
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (sources_[s] == nullptr) continue;
      RETURN_IF_ERROR(
          name_path(read_dense(static_cast<int>(s)), config_.source(static_cast<int>(s)).path()));
    }
    for (const BankPlan::Load& load : plan_.loads) {
      if (load.to.kind != BankItem::kTable) continue;
      RETURN_IF_ERROR(name_path(read_table_of(load), config_.source(load.source).path()));
    }
    take_dense();
    take_optimizers();
    RETURN_IF_ERROR(take_tables());
    return std::move(loaded_);
  }

 private:
  // A dense tensor or a tensor of optimizer state, under its name in the model.
  struct Tensor {
    std::string name;
    std::string parameter;  // of optimizer state
    at::Tensor value;
  };

  static std::string file_name(const BankItem& item, const std::string& name) {
    if (item.kind == BankItem::kDense) return name;
    const std::string owner(owner_of(name));
    return absl::StrCat(kOptimizerPrefix, owner, "/", name.substr(owner.size() + 1));
  }

  absl::Status read_dense(int s) {
    std::map<std::string, Tensor> wanted;  // by name in the file
    for (const BankPlan::Load& load : plan_.loads) {
      const bool optimizer = load.to.kind == BankItem::kOptimizer;
      if (load.source != s || (load.to.kind != BankItem::kDense && !optimizer)) continue;
      wanted[file_name(load.to, load.from)] = {
          file_name(load.to, load.to.name),
          optimizer ? std::string(owner_of(load.to.name)) : std::string(),
          {}};
    }
    if (wanted.empty()) return absl::OkStatus();
    const CheckpointReader& checkpoint = sources_[s]->checkpoint();
    for (const auto& file : checkpoint.manifest().files()) {
      if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
      for (const auto& entry : file.tensors()) {
        const auto found = wanted.find(entry.name());
        if (found == wanted.end()) continue;
        const auto type = tensor_type_of_name(entry.dtype());
        const auto scalar = type ? scalar_type_of(*type) : std::nullopt;
        if (!scalar) {
          return absl::InvalidArgumentError(absl::StrCat("tensor ", entry.name(), " is of ",
                                                         entry.dtype(), ", which no model has"));
        }
        const std::vector<int64_t> shape(entry.shape().begin(), entry.shape().end());
        found->second.value = at::empty(shape, *scalar);
      }
      RETURN_IF_ERROR(checkpoint.read_tensors(
          file,
          [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) {
            const auto found = wanted.find(tensor.name);
            if (found == wanted.end()) return absl::OkStatus();
            std::memcpy(static_cast<char*>(found->second.value.mutable_data_ptr()) + begin,
                        bytes.data(), bytes.size());
            return absl::OkStatus();
          },
          threads_));
    }
    for (auto& [name, tensor] : wanted) {
      (tensor.parameter.empty() ? dense_ : optimizer_)[tensor.name] = std::move(tensor);
    }
    return absl::OkStatus();
  }

  void take_dense() {
    for (const NamedParameter& own : target_.dense) {
      const auto found = dense_.find(own.name);
      if (found != dense_.end()) {
        loaded_.dense.push_back({own.name, found->second.value});
      } else if (options_.whole) {
        loaded_.dense.push_back({own.name, own.value.detach().clone()});
      }
    }
  }

  // The optimizer state of a parameter is loaded as a whole, and so is the average. A parameter
  // that is reloaded without an average loses its average: the average of the earlier values would
  // mislead evaluations.
  void take_optimizers() {
    const bool restarts = target_.average != nullptr && !dense_.empty();
    if (!options_.whole && optimizer_.empty() && !restarts) return;
    std::set<std::pair<std::string, bool>> given;  // parameter, and whether it is the average
    for (const auto& [name, tensor] : optimizer_) {
      given.emplace(tensor.parameter, is_of_average(name));
    }
    for (NamedParameter& own : target_.optimizer_tensors()) {
      const size_t begin = sizeof(kOptimizerPrefix) - 1;
      const std::string parameter = own.name.substr(begin, own.name.rfind('/') - begin);
      if (given.count({parameter, is_of_average(own.name)}) > 0) continue;
      const bool replaced = !options_.whole && dense_.count(parameter) > 0;
      if (replaced && is_of_average(own.name)) continue;
      loaded_.optimizer_tensors.push_back(std::move(own));
    }
    for (auto& [name, tensor] : optimizer_) {
      loaded_.optimizer_tensors.push_back({name, std::move(tensor.value)});
    }
  }

  const EmbeddingTable& target_table(const std::string& name) const {
    return **std::find_if(target_.tables.begin(), target_.tables.end(),
                          [&](const EmbeddingTable* table) { return table->name() == name; });
  }

  absl::Status read_table_of(const BankPlan::Load& load) {
    const EmbeddingTable& own = target_table(load.to.name);
    RETURN_IF_ERROR(own.check_step(step_of(own)));
    const SourceConfig& config = config_.source(load.source);
    const BankSource& source = *sources_[load.source];
    std::unique_ptr<EmbeddingTable> rows = own.make_empty();
    RowParts parts;
    bool table_state = false, admission = false;
    int64_t applied_steps = 0;
    if (source.chain().empty()) {
      RETURN_IF_ERROR(rows->content().load_rows(source.rows()));
      loaded_.rows.push_back({absl::StrCat(config.path(), ": table ", own.name()), rows->rows(),
                              static_cast<int64_t>(source.rows().ids.size())});
      // The other columns are the model's own, and may have been trained.
      parts.columns = source.file_columns();
    } else {
      TableReaderOptions options = reader_options(load);
      parts.frequency = options.row_state;
      parts.last_step = options.row_state && options.last_step;
      for (const auto& [slot, name] : *options.slots) parts.slots.insert(slot);
      table_state = options.table_state;
      admission = options.admission;
      ASSIGN_OR_RETURN(PlacedRows placed,
                       read_table_chain(source.chain(), options, *rows, threads_));
      loaded_.rows.push_back(std::move(placed));
      if (options.row_state) applied_steps = entry_of(source, load.from)->applied_steps();
    }
    RETURN_IF_ERROR(add_rows(own, std::move(rows), parts, table_state, admission, load.clear));
    EmbeddingTable& result = *tables_.at(own.name());
    TableCounters counters = result.content().counters();
    counters.applied_steps = std::max(counters.applied_steps, applied_steps);
    counters.last_step = std::max(counters.last_step, step_of(own));
    return annotate(result.content().set_counters(counters), config.path());
  }

  TableReaderOptions reader_options(const BankPlan::Load& load) const {
    const SourceConfig& config = config_.source(load.source);
    TableReaderOptions options;
    options.table = load.from;
    options.row_state = gives(config, SourceConfig::SLOTS);
    options.last_step = gives(config, SourceConfig::PROGRESS);
    options.table_state = options.row_state && options.last_step;
    options.admission = false;
    options.slots.emplace();
    for (const BankPlan::Load& part : plan_.loads) {
      if (part.source != load.source || owner_of(part.to.name) != load.to.name) continue;
      options.admission |= part.to.kind == BankItem::kAdmission;
      if (part.to.kind != BankItem::kSlot) continue;
      (*options.slots)[part.to.name.substr(load.to.name.size() + 1)] =
          part.from.substr(load.from.size() + 1);
    }
    return options;
  }

  static const CheckpointManifest::Table* entry_of(const BankSource& source,
                                                   const std::string& name) {
    for (const auto& entry : source.checkpoint().manifest().tables()) {
      if (entry.name() == name) return &entry;
    }
    return nullptr;
  }

  int64_t step_of(const EmbeddingTable& own) const {
    return options_.step_by_table ? own.content().counters().last_step : options_.step;
  }

  // Adds rows to the table's future content.
  absl::Status add_rows(const EmbeddingTable& own, std::unique_ptr<EmbeddingTable> rows,
                        const RowParts& parts, bool table_state, bool admission, bool clear) {
    std::unique_ptr<EmbeddingTable>& result = tables_[own.name()];
    // No step records the rows of a reload, so a delta on an earlier checkpoint would lack them.
    // The initial content of a job, even if it is read again, is not in an earlier checkpoint.
    const int64_t step = step_of(own);
    const bool reload = !options_.whole && !options_.step_by_table;
    const int64_t log_begins = reload ? step + 1 : step;
    if (result != nullptr || (!clear && own.rows() > 0)) {
      if (result == nullptr) {
        ASSIGN_OR_RETURN(result, copy_of(own));
      }
      RETURN_IF_ERROR(copy_rows(*rows, parts, step, *result));
      if (admission)
        RETURN_IF_ERROR(result->content().set_admission_state(rows->content().admission_state()));
      result->content().restart_evicted_log(log_begins);
      return absl::OkStatus();
    }
    TableContent& content = rows->content();
    for (RowIndex row = 0; row < content.rows().end() && !parts.last_step; ++row) {
      if (!content.rows().in_use(row)) continue;
      content.mutable_row(row).meta.last_step = static_cast<uint32_t>(step);
    }
    if (!admission) RETURN_IF_ERROR(content.set_admission_state(own.content().admission_state()));
    if (!table_state) content.restart_evicted_log(log_begins);
    RETURN_IF_ERROR(content.set_counters(own.content().counters()));
    result = std::move(rows);
    return absl::OkStatus();
  }

  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> copy_of(const EmbeddingTable& own) {
    std::unique_ptr<EmbeddingTable> copy = own.make_empty();
    RETURN_IF_ERROR(copy_rows(own, all_parts(own), 0, *copy));
    RETURN_IF_ERROR(copy->content().set_admission_state(own.content().admission_state()));
    RETURN_IF_ERROR(copy->content().set_evicted_log(own.content().evicted_log()));
    RETURN_IF_ERROR(copy->content().set_counters(own.content().counters()));
    return copy;
  }

  absl::Status take_tables() {
    for (const EmbeddingTable* own : target_.tables) {
      std::unique_ptr<EmbeddingTable>& table = tables_[own->name()];
      if (table == nullptr && options_.whole) {
        ASSIGN_OR_RETURN(table, copy_of(*own));
      }
      if (table != nullptr) loaded_.tables.push_back(std::move(table));
    }
    return absl::OkStatus();
  }

  const ModelBankConfig& config_;
  const BankPlan& plan_;
  const absl::Span<const std::unique_ptr<BankSource>> sources_;
  const TrainState& target_;
  const BankLoadOptions& options_;
  ThreadPool& threads_;
  std::map<std::string, Tensor> dense_, optimizer_;  // by name in the model's state
  std::map<std::string, std::unique_ptr<EmbeddingTable>> tables_;
  LoadedState loaded_;
};

}  // namespace

absl::StatusOr<LoadedState> load_bank(const ModelBankConfig& config, const BankPlan& plan,
                                      absl::Span<const std::unique_ptr<BankSource>> sources,
                                      const TrainState& target, const BankLoadOptions& options,
                                      ThreadPool& threads) {
  return BankLoad(config, plan, sources, target, options, threads).run();
}

}  // namespace millrace
