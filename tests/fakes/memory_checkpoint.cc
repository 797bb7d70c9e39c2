#include "tests/fakes/memory_checkpoint.h"

#include <ATen/ATen.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace millrace {
namespace {

std::vector<NamedParameter> copies(const std::vector<NamedParameter>& tensors) {
  std::vector<NamedParameter> copied;
  for (const NamedParameter& tensor : tensors) {
    copied.push_back({tensor.name, tensor.value.detach().clone()});
  }
  return copied;
}

template <typename T>
std::string hex(const std::vector<T>& numbers) {
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)});
}

void append(const std::vector<NamedParameter>& tensors, std::string* text) {
  for (const NamedParameter& tensor : tensors) {
    const at::Tensor flat = tensor.value.contiguous();
    absl::StrAppend(
        text, tensor.name, " ", describe(flat), " ",
        absl::BytesToHexString({static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()}),
        "\n");
  }
}

}  // namespace

MemoryCheckpoint::MemoryCheckpoint(const TrainState& state)
    : dense_(copies(state.dense)),
      optimizer_(copies(state.optimizer_tensors())),
      shared_(state.shared.SerializeAsString()),
      rank_(state.rank.SerializeAsString()) {
  for (const EmbeddingTable* table : state.tables) {
    tables_.push_back({table->name(), table->content().export_rows(),
                       table->content().admission_state(), table->content().evicted_log()});
  }
}

LoadedState MemoryCheckpoint::load(const TrainState& target,
                                   const std::vector<const MemoryCheckpoint*>& ranks) {
  LoadedState loaded = begin_loading(target);
  loaded.dense = copies(ranks[0]->dense_);
  loaded.optimizer_tensors = copies(ranks[0]->optimizer_);
  for (size_t t = 0; t < loaded.tables.size(); ++t) {
    const Table& from = ranks[0]->tables_.at(t);
    for (const absl::Status& status :
         {loaded.tables[t]->content().load_rows(from.rows),
          loaded.tables[t]->content().set_admission_state(from.admission),
          loaded.tables[t]->content().set_evicted_log(from.evicted)}) {
      MILLRACE_CHECK(status.ok()) << status;
    }
  }
  MILLRACE_CHECK(loaded.shared.ParseFromString(ranks[0]->shared_));
  for (const MemoryCheckpoint* rank : ranks) {
    MILLRACE_CHECK(loaded.ranks.emplace_back().ParseFromString(rank->rank_));
  }
  return loaded;
}

std::string MemoryCheckpoint::to_string() const {
  std::string text;
  append(dense_, &text);
  append(optimizer_, &text);
  for (const Table& table : tables_) {
    absl::StrAppend(&text, "table ", table.name, "\n ids ", hex(table.rows.ids), "\n weights ",
                    hex(table.rows.weights));
    for (const TableRows::Slot& slot : table.rows.slots) {
      absl::StrAppend(&text, "\n ", slot.name, " ", hex(slot.values));
    }
    absl::StrAppend(&text, "\n frequency ", hex(table.rows.frequency), "\n last_step ",
                    hex(table.rows.last_step), "\n candidates ", hex(table.admission.ids), " ",
                    hex(table.admission.counts), "\n sketch ", hex(table.admission.sketch.counters),
                    "\n evicted from ", table.evicted.begins, " ", hex(table.evicted.ids), " ",
                    hex(table.evicted.steps), "\n");
  }
  SharedState shared;
  RankState rank;
  MILLRACE_CHECK(shared.ParseFromString(shared_) && rank.ParseFromString(rank_));
  absl::StrAppend(&text, shared.DebugString(), rank.DebugString());
  return text;
}

}  // namespace millrace
