#include "checkpoint/state/train_state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/state/state_messages.h"

namespace millrace {
namespace {

bool contains(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns "fc.weight" for "fc.weight/exp_avg".
absl::string_view parameter_of(absl::string_view state) {
  return state.substr(0, state.rfind('/'));
}

void compare_dense(const std::vector<NamedParameter>& expected, const LoadedState& loaded,
                   std::vector<std::string>* lines) {
  std::map<std::string, const at::Tensor*> left;
  for (const NamedParameter& tensor : loaded.dense) {
    if (left.emplace(tensor.name, &tensor.value).second) continue;
    lines->push_back(absl::StrCat("dense tensor \"", tensor.name, "\" is there twice"));
  }
  std::vector<std::string> names;
  for (const NamedParameter& tensor : expected) {
    names.push_back(tensor.name);
    const auto same = left.find(tensor.name);
    if (same == left.end()) {
      // The saver omitted the tensor on purpose, so its absence is no difference.
      if (contains(loaded.left_out, tensor.name)) continue;
      lines->push_back(absl::StrCat("dense tensor \"", tensor.name, "\", ", describe(tensor.value),
                                    ", is missing"));
      continue;
    }
    const at::Tensor& value = *same->second;
    if (!value.defined() || value.scalar_type() != tensor.value.scalar_type() ||
        value.sizes() != tensor.value.sizes()) {
      lines->push_back(absl::StrCat("dense tensor \"", tensor.name, "\" is ", describe(value),
                                    "; the model has ", describe(tensor.value)));
    }
    left.erase(same);
  }
  for (const auto& [name, value] : left) {
    lines->push_back(absl::StrCat("dense tensor \"", name, "\", ", describe(*value),
                                  ", is not in the model", did_you_mean(name, names)));
  }
}

// Assigns each state to its optimizer. Adds a line to `strays` per state of an unknown parameter.
std::vector<std::vector<NamedParameter>> deal_out(const std::vector<DenseOptimizer*>& optimizers,
                                                  const std::vector<NamedParameter>& states,
                                                  std::vector<std::string>* strays) {
  std::map<std::string, size_t> owners;
  std::vector<std::string> names;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    for (const std::string& name : optimizers[i]->parameters()) {
      owners[name] = i;
      names.push_back(name);
    }
  }
  std::vector<std::vector<NamedParameter>> dealt(optimizers.size());
  for (const NamedParameter& state : states) {
    const size_t begin =
        absl::StartsWith(state.name, kOptimizerPrefix) ? sizeof(kOptimizerPrefix) - 1 : 0;
    // A name is "optimizer/<parameter>/<field>", and `<parameter>` may contain slashes.
    const size_t end = state.name.rfind('/');
    const std::string parameter =
        begin == 0 || end < begin ? state.name : state.name.substr(begin, end - begin);
    const auto owner = owners.find(parameter);
    if (owner == owners.end()) {
      strays->push_back(absl::StrCat("optimizer state \"", state.name, "\" is of no parameter here",
                                     did_you_mean(parameter, names)));
      continue;
    }
    dealt[owner->second].push_back({state.name.substr(begin), state.value});
  }
  return dealt;
}

// Adds to `states` each state of `own` that is missing and belongs to an omitted parameter.
void keep_left_out(std::vector<NamedParameter> own, const std::vector<std::string>& left_out,
                   std::vector<NamedParameter>* states) {
  for (NamedParameter& state : own) {
    const bool there =
        std::any_of(states->begin(), states->end(),
                    [&](const NamedParameter& other) { return other.name == state.name; });
    if (there || !contains(left_out, parameter_of(state.name))) continue;
    states->push_back(std::move(state));
  }
}

// State of parameters, by "<parameter>/<what>".
struct DealtState {
  std::vector<std::vector<NamedParameter>> optimizers;
  std::vector<NamedParameter> average;
};

// Assigns the loaded state to the optimizers and the average. For omitted parameters takes the
// target's own state.
DealtState deal_out(const TrainState& target, const LoadedState& loaded,
                    std::vector<std::string>* strays) {
  DealtState dealt;
  std::vector<NamedParameter> of_optimizers;
  for (const NamedParameter& state : loaded.optimizer_tensors) {
    if (target.average != nullptr && is_of_average(state.name)) {
      dealt.average.push_back({state.name.substr(sizeof(kOptimizerPrefix) - 1), state.value});
    } else {
      of_optimizers.push_back(state);
    }
  }
  dealt.optimizers = deal_out(target.dense_optimizers, of_optimizers, strays);
  if (loaded.left_out.empty()) return dealt;
  for (size_t i = 0; i < dealt.optimizers.size(); ++i) {
    keep_left_out(target.dense_optimizers[i]->state(), loaded.left_out, &dealt.optimizers[i]);
  }
  if (target.average != nullptr) {
    keep_left_out(target.average->state(), loaded.left_out, &dealt.average);
  }
  return dealt;
}

void compare_tables(const TrainState& target, const LoadedState& loaded,
                    std::vector<std::string>* lines) {
  std::vector<std::string> names;
  std::map<std::string, int> found;
  for (const auto& table : loaded.tables) {
    if (++found[table->name()] > 1) {
      lines->push_back(absl::StrCat("table ", table->name(), " is there twice"));
    }
  }
  for (const EmbeddingTable* table : target.tables) {
    names.push_back(table->name());
    if (found.erase(table->name()) == 0 && !contains(loaded.left_out, table->name())) {
      lines->push_back(absl::StrCat("table ", table->name(), " is missing"));
    }
  }
  for (const auto& [name, count] : found) {
    lines->push_back(
        absl::StrCat("table ", name, " is not in the model", did_you_mean(name, names)));
  }
}

// Returns this rank's counters of each table, by name. With the same number of ranks these are the
// rank's own; otherwise rank 0 gets the sum over all ranks. All ranks get the same step counts.
absl::StatusOr<std::map<std::string, TableCounters>> counters_of(
    const std::vector<RankState>& ranks, int rank, int world_size) {
  const bool same_world = static_cast<int>(ranks.size()) == world_size;
  std::map<std::string, TableCounters> all;
  for (size_t from = 0; from < ranks.size(); ++from) {
    if (same_world && static_cast<int>(from) != rank) continue;
    for (const TableCountersState& state : ranks[from].table()) {
      ASSIGN_OR_RETURN(const TableCounters counters, from_state(state));
      const auto [place, first] = all.try_emplace(state.table(), counters);
      if (!first) place->second = merged(place->second, counters);
    }
  }
  if (same_world || rank == 0) return all;
  for (auto& [name, counters] : all) counters.counted = {};
  return all;
}

// The former values of everything that put_dense() has changed.
struct FormerDense {
  std::vector<at::Tensor> tensors;
  std::vector<std::vector<NamedParameter>> optimizers;
  std::vector<NamedParameter> average;
  size_t tensors_changed = 0;
  size_t optimizers_changed = 0;  // includes one whose change has begun
  bool average_changed = false;   // likewise

  explicit FormerDense(const TrainState& target) {
    for (const NamedParameter& tensor : target.dense) {
      tensors.push_back(tensor.value.detach().clone());
    }
    for (const DenseOptimizer* optimizer : target.dense_optimizers) {
      optimizers.push_back(copies_of(optimizer->state()));
    }
    if (target.average != nullptr) average = copies_of(target.average->state());
  }

  absl::Status put_back(const TrainState& target) const {
    for (size_t i = 0; i < tensors_changed; ++i) target.dense[i].value.detach().copy_(tensors[i]);
    for (size_t i = 0; i < optimizers_changed; ++i) {
      RETURN_IF_ERROR(target.dense_optimizers[i]->load_state(optimizers[i]));
    }
    return average_changed ? target.average->load_state(average) : absl::OkStatus();
  }

 private:
  static std::vector<NamedParameter> copies_of(std::vector<NamedParameter> states) {
    for (NamedParameter& state : states) state.value = state.value.detach().clone();
    return states;
  }
};

// Puts tensors and optimizer state: all or none. REQUIRES: check_state() succeeded.
absl::Status put_dense(const TrainState& target, const LoadedState& loaded) {
  std::vector<std::string> strays;
  const DealtState dealt = deal_out(target, loaded, &strays);
  std::map<std::string, at::Tensor> by_name;
  for (const NamedParameter& tensor : loaded.dense) by_name[tensor.name] = tensor.value;
  // Records the progress, so that a failure, such as missing memory, can be undone.
  FormerDense former(target);
  const absl::Status put = catch_exceptions([&]() -> absl::Status {
    for (size_t& i = former.tensors_changed; i < target.dense.size(); ++i) {
      const auto found = by_name.find(target.dense[i].name);
      if (found != by_name.end()) target.dense[i].value.detach().copy_(found->second);
    }
    for (size_t& i = former.optimizers_changed; i < dealt.optimizers.size();) {
      const size_t next = i++;
      RETURN_IF_ERROR(target.dense_optimizers[next]->load_state(dealt.optimizers[next]));
    }
    if (target.average == nullptr) return absl::OkStatus();
    former.average_changed = true;
    return target.average->load_state(dealt.average);
  });
  if (put.ok()) return put;
  const absl::Status undone = catch_exceptions([&] { return former.put_back(target); });
  if (undone.ok()) return put;
  return absl::InternalError(absl::StrCat(
      put.message(), "; the state is lost, since undoing that failed too: ", undone.message()));
}

// The former counters of omitted tables.
class FormerCounters {
 public:
  // Sets the last step of each omitted table to the checkpoint's, for its future rows.
  absl::Status set_clocks(const TrainState& target, const LoadedState& loaded,
                          const std::map<std::string, TableCounters>& counters) {
    for (EmbeddingTable* table : target.tables) {
      const auto own = counters.find(table->name());
      if (!contains(loaded.left_out, table->name()) || own == counters.end()) continue;
      counters_.emplace_back(table, table->content().counters());
      TableCounters counters_now = table->content().counters();
      counters_now.last_step = own->second.last_step;
      RETURN_IF_ERROR(table->content().set_counters(counters_now));
    }
    return absl::OkStatus();
  }
  void put_back() const {
    for (const auto& [table, counters] : counters_)
      table->content().set_counters(counters).IgnoreError();
  }

 private:
  std::vector<std::pair<EmbeddingTable*, TableCounters>> counters_;
};

}  // namespace

std::vector<NamedParameter> TrainState::optimizer_tensors() const {
  std::vector<NamedParameter> tensors;
  const auto add = [&](std::vector<NamedParameter> states) {
    for (NamedParameter& state : states) {
      if (contains(left_out, parameter_of(state.name))) continue;
      tensors.push_back({absl::StrCat(kOptimizerPrefix, state.name), std::move(state.value)});
    }
  };
  for (const DenseOptimizer* optimizer : dense_optimizers) add(optimizer->state());
  if (average != nullptr) add(average->state());
  return tensors;
}

LoadedState begin_loading(const TrainState& target) {
  LoadedState loaded;
  for (const EmbeddingTable* table : target.tables) loaded.tables.push_back(table->make_empty());
  return loaded;
}

std::vector<std::string> state_differences(const TrainState& target, const LoadedState& loaded) {
  std::vector<std::string> lines;
  compare_dense(target.dense, loaded, &lines);
  const DealtState dealt = deal_out(target, loaded, &lines);
  const auto add = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  for (size_t i = 0; i < dealt.optimizers.size(); ++i) {
    add(target.dense_optimizers[i]->state_differences(dealt.optimizers[i]));
  }
  if (target.average != nullptr) add(target.average->state_differences(dealt.average));
  compare_tables(target, loaded, &lines);
  return lines;
}

absl::Status check_state(const TrainState& target, int rank, int world_size,
                         const LoadedState& loaded) {
  const std::vector<std::string> lines = state_differences(target, loaded);
  if (!lines.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the state is that of another model, in ", lines.size(),
        lines.size() == 1 ? " point: " : " points:\n  ", absl::StrJoin(lines, "\n  ")));
  }
  for (const EmbeddingTable* table : target.tables) {
    if (!table->in_step()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("table ", table->name(), " is inside a step"));
  }
  ASSIGN_OR_RETURN(const auto counters, counters_of(loaded.ranks, rank, world_size));
  for (const EmbeddingTable* table : target.tables) {
    const auto own = counters.find(table->name());
    if (own != counters.end()) RETURN_IF_ERROR(table->check_step(own->second.last_step));
  }
  return absl::OkStatus();
}

absl::Status put_state(const TrainState& target, int rank, int world_size, LoadedState& loaded) {
  RETURN_IF_ERROR(check_state(target, rank, world_size, loaded));
  ASSIGN_OR_RETURN(const auto counters, counters_of(loaded.ranks, rank, world_size));
  for (const auto& table : loaded.tables) {
    const auto own = counters.find(table->name());
    if (own != counters.end()) RETURN_IF_ERROR(table->content().set_counters(own->second));
  }
  FormerCounters former;
  absl::Status status = former.set_clocks(target, loaded, counters);
  if (status.ok()) status = catch_exceptions([&] { return put_dense(target, loaded); });
  if (!status.ok()) {
    former.put_back();
    return status;
  }
  // No operation below can fail.
  for (EmbeddingTable* table : target.tables) {
    for (const auto& other : loaded.tables) {
      if (other->name() == table->name()) table->content().swap(other->content());
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
