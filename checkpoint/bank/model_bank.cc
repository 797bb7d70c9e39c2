#include "checkpoint/bank/model_bank.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/bank/bank_load.h"
#include "checkpoint/bank/model_bank_check.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/state/placed_rows.h"
#include "checkpoint/state/state_reader.h"
#include "distributed/agreed_result.h"
#include "proto/model_bank_state.pb.h"

namespace millrace {
namespace {

constexpr int32_t kVersion = 1;

// Checks that the limits of tables on several ranks allow the rows of all ranks.
absl::Status check_limits(const LoadedState& loaded, Collectives& ranks) {
  std::vector<int64_t> rows;
  for (const auto& table : loaded.tables) rows.push_back(table->rows());
  ASSIGN_OR_RETURN(const std::vector<int64_t> sums, sum_over_ranks(rows, ranks));
  for (size_t t = 0; t < sums.size(); ++t) {
    if (loaded.tables[t]->placement().world_size == 1) continue;
    loaded.tables[t]->set_rows_of_all_ranks(0);
    RETURN_IF_ERROR(loaded.tables[t]->check_new_rows(sums[t]));
  }
  return absl::OkStatus();
}

// Reports the result of loading to all ranks. If all ranks succeeded, checks the joint content.
absl::Status agree(const absl::StatusOr<LoadedState>& loaded, Collectives& ranks) {
  RETURN_IF_ERROR(agree_on_loading(loaded.status(), "",
                                   loaded.ok() ? loaded->rows : std::vector<PlacedRows>(), ranks));
  return ranks.world_size() == 1 ? absl::OkStatus() : check_limits(*loaded, ranks);
}

// The part of a trainer that `loaded` replaces.
TrainState part_of(const TrainState& target, const LoadedState& loaded) {
  TrainState part;
  for (const NamedParameter& tensor : target.dense) {
    for (const NamedParameter& other : loaded.dense) {
      if (other.name == tensor.name) part.dense.push_back(tensor);
    }
  }
  const bool restarts_average = target.average != nullptr && !loaded.dense.empty();
  if (!loaded.optimizer_tensors.empty() || restarts_average) {
    part.dense_optimizers = target.dense_optimizers;
    part.average = target.average;
  }
  for (EmbeddingTable* table : target.tables) {
    for (const auto& other : loaded.tables) {
      if (other->name() == table->name()) part.tables.push_back(table);
    }
  }
  return part;
}

// Returns the tables that a source should give rows but that have none, each with the source.
std::vector<std::string> tables_without_rows(const BankPlan& plan, const ModelBankConfig& config,
                                             const LoadedState& loaded) {
  std::vector<std::string> tables;
  auto placed = loaded.rows.begin();
  for (const BankPlan::Load& load : plan.loads) {
    if (load.to.kind != BankItem::kTable) continue;
    if ((placed++)->due > 0) continue;
    for (const auto& table : loaded.tables) {
      if (table->name() != load.to.name || table->rows() > 0) continue;
      tables.push_back(
          absl::StrCat("table ", table->name(), " got no rows: there are none in ",
                       config.source(load.source).path(),
                       load.from == load.to.name ? "" : absl::StrCat(" (table ", load.from, ")")));
    }
  }
  return tables;
}

// Returns the user's name, in the form of manifests.
std::string table_user(const SourceConfig& config) {
  return absl::StrCat("table/", config.rows().table());
}

// Returns true if a source has no content for these names and need not be opened; null: all names.
bool gives_nothing_of(const SourceConfig& config, const std::vector<std::string>* names) {
  return names != nullptr && config.has_rows() &&
         std::find(names->begin(), names->end(), config.rows().table()) == names->end();
}

// Removes items of other dense tensors and tables from a plan.
void keep_only(const std::vector<std::string>& names, BankPlan* plan) {
  const auto other = [&](const BankItem& item) {
    return std::find(names.begin(), names.end(), owner_of(item.name)) == names.end();
  };
  plan->loads.erase(std::remove_if(plan->loads.begin(), plan->loads.end(),
                                   [&](const BankPlan::Load& load) { return other(load.to); }),
                    plan->loads.end());
  plan->fresh.erase(std::remove_if(plan->fresh.begin(), plan->fresh.end(), other),
                    plan->fresh.end());
}

void log_plan(absl::string_view what, const std::string& plan,
              const std::vector<std::string>& empty) {
  MILLRACE_LOG(INFO) << what << ":\n" << plan;
  for (const std::string& line : empty) MILLRACE_LOG(WARNING) << what << ": " << line;
}

}  // namespace

ModelBank::ModelBank(ModelBankConfig config, FileSystem& files, int threads,
                     std::vector<FeatureConfig> features)
    : config_(std::move(config)),
      features_(std::move(features)),
      files_(files),
      threads_(threads) {}

bool ModelBank::dynamic() const {
  return std::any_of(config_.source().begin(), config_.source().end(),
                     [](const SourceConfig& source) { return source.dynamic(); });
}

// Resolves all paths on rank 0; in a reload, only the changed dynamic sources.
absl::StatusOr<std::vector<SourcePlace>> ModelBank::find(bool reload, const Pick& pick,
                                                         Collectives& ranks) {
  // Only rank 0 resolves paths: a checkpoint may appear in between, and ranks must load the same.
  const auto make = [&]() -> absl::StatusOr<std::string> {
    std::string text;
    for (int s = 0; s < config_.source_size(); ++s) {
      SourcePlace place;
      const bool of_others = gives_nothing_of(config_.source(s), pick.only);
      if (!of_others && (!reload || config_.source(s).dynamic())) {
        ASSIGN_OR_RETURN(place, find_source(config_.source(s), files_, threads_),
                         absl::StrCat("source ", s, " of the model bank"));
      }
      const auto before = loaded_.find(s);
      const bool due = reload ? before != loaded_.end() && config_.source(s).dynamic() : true;
      if (place.path.empty() && due && !of_others) {
        MILLRACE_LOG(WARNING) << "source " << s
                              << " of the model bank, which is optional, is not there: "
                              << config_.source(s).path();
      }
      // The rows of an unchanged source are in the tables already; an empty place skips the source.
      const bool same = reload && before != loaded_.end() && before->second == place.version;
      if (same) place = SourcePlace();
      for (const std::string& line : place.passed_over) {
        MILLRACE_LOG(WARNING) << "model bank: passed over: " << line;
      }
      absl::StrAppend(&text, place.path, absl::string_view("\0", 1), place.version,
                      absl::string_view("\0", 1));
    }
    return text;
  };
  ASSIGN_OR_RETURN(const std::string text, result_of_first(make, ranks));
  const std::vector<std::string> words = absl::StrSplit(text, '\0');
  std::vector<SourcePlace> places;
  for (size_t i = 0; i + 1 < words.size(); i += 2) places.push_back({words[i], words[i + 1], {}});
  if (static_cast<int>(places.size()) == config_.source_size()) return places;
  return absl::InternalError("rank 0 has other sources of the model bank");
}

const BankSource* ModelBank::giver(const Sources& sources, SourceConfig::Part part) const {
  for (int s = 0; s < config_.source_size(); ++s) {
    if (sources[s] != nullptr && gives(config_.source(s), part)) return sources[s].get();
  }
  return nullptr;
}

int64_t ModelBank::step_after(const Sources& sources, const TrainState& target) const {
  const BankSource* source = giver(sources, SourceConfig::PROGRESS);
  return source == nullptr ? target.shared.progress().step()
                           : source->checkpoint().manifest().progress().step();
}

absl::StatusOr<LoadedState> ModelBank::read(const std::vector<SourcePlace>& places,
                                            const Pick& pick, const TrainState& target,
                                            Sources* sources) {
  // The plan needs the items of all sources, because an item may come from any of them.
  SourceItems items;
  for (int s = 0; s < config_.source_size(); ++s) {
    items.emplace_back();
    sources->emplace_back();
    if (places[s].path.empty()) continue;
    ASSIGN_OR_RETURN(sources->back(),
                     BankSource::open(config_.source(s), places[s], files_, target, features_),
                     absl::StrCat("source ", s, " of the model bank"));
    items.back() = sources->back()->items();
  }
  if (pick.only != nullptr) RETURN_IF_ERROR(check_unchanged(*sources, target.shared));
  ASSIGN_OR_RETURN(BankPlan plan, plan_bank(config_, items, model_items(target), pick.whole));
  if (pick.only != nullptr) keep_only(*pick.only, &plan);
  given_.clear();
  for (const BankPlan::Load& load : plan.loads) given_.insert(load.to.name);
  // The text of the plan names the checkpoint that a folder resolved to.
  ModelBankConfig found = config_;
  for (int s = 0; s < found.source_size(); ++s) {
    if (!places[s].path.empty()) found.mutable_source(s)->set_path(places[s].path);
  }
  plan_ = plan.to_string(found);
  BankLoadOptions options;
  options.whole = pick.whole;
  options.step = step_after(*sources, target);
  options.step_by_table = pick.only != nullptr;
  ASSIGN_OR_RETURN(LoadedState loaded,
                   load_bank(config_, plan, *sources, target, options, threads_));
  empty_ = tables_without_rows(plan, found, loaded);
  return loaded;
}

// Checks files with rows that are read a second time.
absl::Status ModelBank::check_unchanged(const Sources& sources, const SharedState& state) const {
  for (int s = 0; s < config_.source_size(); ++s) {
    const SourceConfig& config = config_.source(s);
    if (sources[s] == nullptr || !config.has_rows() || config.dynamic()) continue;
    const std::string user = table_user(config);
    bool known = false, same = false;
    for (const CheckpointManifest::ReferredFile& file : state.began_with()) {
      const auto& users = file.used_by();
      if (std::find(users.begin(), users.end(), user) == users.end()) continue;
      known = true;
      same |= file.digest() == sources[s]->identity().digest;
    }
    if (!known || same) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        config.path(), " is not what training began with (digest ", sources[s]->identity().digest,
        "); put that back, or make the source dynamic, which takes what there is"));
  }
  return absl::OkStatus();
}

// Records the files with rows. Dynamic sources are recorded in the state of this object instead.
absl::Status ModelBank::add_files(const Sources& sources, SharedState* state) const {
  CheckpointManifest all;
  for (int s = 0; s < config_.source_size(); ++s) {
    const SourceConfig& config = config_.source(s);
    if (sources[s] == nullptr || !config.has_rows() || config.dynamic()) continue;
    ASSIGN_OR_RETURN(const CheckpointManifest::ReferredFile file,
                     refer_to(config.path(), sources[s]->identity(), {table_user(config)}));
    add_referred_files({file}, &all);
  }
  *state->mutable_began_with() = std::move(*all.mutable_referred_files());
  return absl::OkStatus();
}

// Builds the messages of the state: the trainer's own messages, with the parts that sources give.
absl::Status ModelBank::add_messages(const Sources& sources, const TrainState& target,
                                     int world_size, LoadedState* loaded) const {
  const BankSource* progress = giver(sources, SourceConfig::PROGRESS);
  const BankSource* cursor = giver(sources, SourceConfig::CURSOR);
  const BankSource* hooks = giver(sources, SourceConfig::HOOKS);
  const BankSource* schedules = giver(sources, SourceConfig::SCHEDULES);
  loaded->shared = target.shared;
  RETURN_IF_ERROR(add_files(sources, &loaded->shared));
  RankState own = target.rank;
  own.clear_table();  // the tables have their counters
  loaded->ranks.assign(world_size, own);
  if (progress != nullptr) {
    ASSIGN_OR_RETURN(RankStates states, read_rank_states(progress->checkpoint()));
    *loaded->shared.mutable_progress() = states.shared.progress();
  }
  // The state of ranks, as many as wrote the checkpoint.
  if (cursor != nullptr && hooks != nullptr && cursor != hooks &&
      cursor->checkpoint().manifest().world_size() != hooks->checkpoint().manifest().world_size()) {
    return absl::InvalidArgumentError(
        "CURSOR and HOOKS come from checkpoints of different numbers of ranks");
  }
  if (cursor != nullptr) {
    ASSIGN_OR_RETURN(RankStates states, read_rank_states(cursor->checkpoint()));
    loaded->shared.set_epoch_first_step(states.shared.epoch_first_step());
    if (states.shared.has_epoch_first_window()) {
      loaded->shared.set_epoch_first_window(states.shared.epoch_first_window());
    }
    loaded->shared.set_window_first_step(states.shared.window_first_step());
    loaded->shared.set_data_ended(states.shared.data_ended());
    loaded->shared.set_stream_ended(states.shared.stream_ended());
    if (states.shared.has_train_data()) {
      *loaded->shared.mutable_train_data() = states.shared.train_data();
    }
    loaded->ranks.resize(states.ranks.size(), own);
    for (size_t r = 0; r < states.ranks.size(); ++r) {
      loaded->ranks[r].mutable_cursor()->Swap(states.ranks[r].mutable_cursor());
    }
  }
  if (hooks != nullptr) {
    ASSIGN_OR_RETURN(RankStates states, read_rank_states(hooks->checkpoint()));
    loaded->shared.mutable_object()->Swap(states.shared.mutable_object());
    loaded->ranks.resize(states.ranks.size(), own);
    for (size_t r = 0; r < states.ranks.size(); ++r) {
      loaded->ranks[r].mutable_hook()->Swap(states.ranks[r].mutable_hook());
      loaded->ranks[r].mutable_object()->Swap(states.ranks[r].mutable_object());
    }
  }
  return schedules == nullptr ? absl::OkStatus() : add_schedules(*schedules, loaded);
}

// Takes the state of the hook that holds the schedules, which is the same on all ranks.
absl::Status ModelBank::add_schedules(const BankSource& source, LoadedState* loaded) const {
  ASSIGN_OR_RETURN(const RankStates states, read_rank_states(source.checkpoint()));
  const auto holds_schedules = [](const auto& state) { return state.name() == kScheduleMonitor; };
  for (RankState& rank : loaded->ranks) {
    auto* const all = rank.mutable_hook();
    all->erase(std::remove_if(all->begin(), all->end(), holds_schedules), all->end());
    for (const auto& state : states.ranks[0].hook()) {
      if (holds_schedules(state)) *all->Add() = state;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedState> ModelBank::load(const TrainState& target, Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<SourcePlace> places, find(/*reload=*/false, Pick(), ranks));
  Sources sources;
  absl::StatusOr<LoadedState> loaded = catch_exceptions([&]() -> absl::StatusOr<LoadedState> {
    ASSIGN_OR_RETURN(LoadedState state, read(places, Pick(), target, &sources));
    RETURN_IF_ERROR(add_messages(sources, target, ranks.world_size(), &state));
    return state;
  });
  RETURN_IF_ERROR(agree(loaded, ranks));
  std::map<int, std::string> versions;
  for (int s = 0; s < config_.source_size(); ++s) {
    if (config_.source(s).dynamic()) versions[s] = places[s].version;
  }
  if (!versions.empty()) {
    // restore() gives every registered object its state, including this one.
    loaded_.swap(versions);
    ObjectState state;
    absl::Status saved = save_state(state);
    loaded_.swap(versions);
    RETURN_IF_ERROR(saved);
    auto& objects = *loaded->shared.mutable_object();
    objects.erase(std::remove_if(objects.begin(), objects.end(),
                                 [](const NamedState& s) { return s.name() == kModelBank; }),
                  objects.end());
    NamedState& own = *objects.Add();
    own.set_name(kModelBank);
    own.set_version(state.version);
    own.set_state(state.bytes);
  }
  if (ranks.rank() == 0) log_plan("model bank", plan_, empty_);
  return loaded;
}

// Reads and applies only the changed content.
absl::Status ModelBank::put(const std::vector<SourcePlace>& places, const Pick& pick,
                            const TrainState& target, Collectives& ranks) {
  Sources sources;
  TrainState changed;
  absl::StatusOr<LoadedState> loaded = catch_exceptions([&]() -> absl::StatusOr<LoadedState> {
    ASSIGN_OR_RETURN(LoadedState state, read(places, pick, target, &sources));
    changed = part_of(target, state);
    RETURN_IF_ERROR(check_state(changed, ranks.rank(), ranks.world_size(), state));
    return state;
  });
  RETURN_IF_ERROR(agree(loaded, ranks));
  return put_state(changed, ranks.rank(), ranks.world_size(), *loaded);
}

absl::StatusOr<bool> ModelBank::reload(const TrainState& target, Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<SourcePlace> places, find(/*reload=*/true, Pick(), ranks));
  const bool any = std::any_of(places.begin(), places.end(),
                               [](const SourcePlace& place) { return !place.path.empty(); });
  if (!any) return false;
  RETURN_IF_ERROR(put(places, {.whole = false}, target, ranks));
  for (int s = 0; s < config_.source_size(); ++s) {
    if (!places[s].path.empty()) loaded_[s] = places[s].version;
  }
  if (ranks.rank() == 0) log_plan("model bank, reloaded", plan_, empty_);
  return true;
}

absl::StatusOr<std::vector<std::string>> ModelBank::fill(const TrainState& target,
                                                         const std::vector<std::string>& names,
                                                         Collectives& ranks) {
  const Pick pick = {.whole = false, .only = &names};
  ASSIGN_OR_RETURN(const std::vector<SourcePlace> places, find(/*reload=*/false, pick, ranks));
  RETURN_IF_ERROR(put(places, pick, target, ranks));
  if (ranks.rank() == 0) log_plan("model bank, for what was not saved", plan_, empty_);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (given_.count(name) == 0) missing.push_back(name);
  }
  return missing;
}

absl::Status ModelBank::save_state(ObjectState& state) const {
  if (loaded_.empty()) return absl::OkStatus();
  ModelBankState message;
  for (const auto& [number, version] : loaded_) {
    ModelBankState::Source& source = *message.add_loaded();
    source.set_source(number);
    source.set_version(version);
  }
  state = {kVersion, message.SerializeAsString()};
  return absl::OkStatus();
}

absl::Status ModelBank::load_state(absl::Span<const ObjectState> per_rank) {
  std::map<int, std::string> loaded;
  if (!per_rank.empty() && !per_rank[0].empty()) {
    ModelBankState message;
    if (per_rank[0].version != kVersion || !message.ParseFromString(per_rank[0].bytes)) {
      return absl::InvalidArgumentError("the state of the model bank is damaged");
    }
    for (const ModelBankState::Source& source : message.loaded()) {
      loaded[source.source()] = source.version();
    }
  }
  loaded_ = std::move(loaded);
  return absl::OkStatus();
}

}  // namespace millrace
