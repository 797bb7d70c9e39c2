#include "framework/loop/trainer_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "checkpoint/state/state_messages.h"
#include "io/data_identity.h"
#include "io/windowed_dataset.h"

namespace millrace {

absl::Status TrainerState::add_object(absl::string_view name, Checkpointable& object,
                                      StatePlacement placement) {
  if (name.empty()) return absl::InvalidArgumentError("a registered object has no name");
  for (const NamedObject& other : objects_) {
    if (other.name == name) {
      return absl::AlreadyExistsError(
          absl::StrCat("two registered objects are named \"", name, "\""));
    }
  }
  objects_.push_back({std::string(name), &object, placement});
  return absl::OkStatus();
}

std::vector<StateHolder> TrainerState::holders(StatePlacement placement) const {
  std::vector<StateHolder> holders;
  for (const NamedObject& object : objects_) {
    if (object.placement != placement) continue;
    const auto save = [&object](ObjectState& state) {
      return catch_part_exceptions("save_state", [&] { return object.object->save_state(state); });
    };
    const auto load = [&object](absl::Span<const ObjectState> per_rank) {
      return catch_part_exceptions("load_state",
                                   [&] { return object.object->load_state(per_rank); });
    };
    holders.push_back({"object", object.name, save, load});
  }
  return holders;
}

TrainState TrainerState::for_model_bank() const {
  TrainState state = parts_.model.tensors_and_tables();
  *state.shared.mutable_progress() = to_state(parts_.position.progress);
  return state;
}

absl::Status TrainerState::find_data_identity() {
  if (parts_.train_data == nullptr) return absl::OkStatus();
  // For data in windows, the identity has the columns of the windows opened so far.
  const bool in_windows = dynamic_cast<const WindowedDataset*>(parts_.train_data) != nullptr;
  if (data_identity_.has_value() && !in_windows) return absl::OkStatus();
  ASSIGN_OR_RETURN(data_identity_, parts_.train_data->identity(), "the training data");
  return absl::OkStatus();
}

// Compares the training data with the checkpoint's. A position in other data is meaningless, and
// with a different type of hashed cells no row is found again.
absl::Status TrainerState::check_data(const LoadedState& loaded, std::vector<std::string>* notes) {
  if (!loaded.shared.has_train_data()) return absl::OkStatus();
  RETURN_IF_ERROR(find_data_identity());
  if (!data_identity_.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(
      check_hashed_columns(loaded.shared.train_data().column(), data_identity_->column()),
      "train.train_data");
  const std::vector<std::string> lines =
      data_differences(loaded.shared.train_data(), *data_identity_);
  if (lines.empty()) return absl::OkStatus();
  const std::string message =
      absl::StrCat("the training data is not what it was: ", absl::StrJoin(lines, "; "));
  if (!loaded.ranks.empty() && loaded.ranks[0].cursor_size() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        message,
        " (the state is one within an epoch of it); put the files back, or train in another "
        "output_dir: anew, or from a checkpoint between two epochs"));
  }
  notes->push_back(message);
  return absl::OkStatus();
}

absl::StatusOr<TrainState> TrainerState::capture(const SavePoint* point) {
  RETURN_IF_ERROR(find_data_identity());
  TrainState state = parts_.model.tensors_and_tables();
  *state.shared.mutable_began_with() = began_with_;
  parts_.evaluations.save(&state.shared);
  HashedColumns columns = restored_columns_;
  if (data_identity_.has_value()) update_hashed_columns(data_identity_->column(), &columns);
  if (data_identity_.has_value() && data_identity_->file_size() > 0) {
    *state.shared.mutable_train_data() = *data_identity_;
  }
  if (!columns.empty()) *state.shared.mutable_train_data()->mutable_column() = columns;
  ASSIGN_OR_RETURN(*state.shared.mutable_object(), save_states(holders(StatePlacement::kOnce)));
  ASSIGN_OR_RETURN(*state.rank.mutable_object(), save_states(holders(StatePlacement::kPerRank)));
  ASSIGN_OR_RETURN(*state.rank.mutable_hook(), save_states(parts_.hooks.state_holders()));
  RETURN_IF_ERROR(save_report(*state.rank.mutable_report()));
  for (const EmbeddingTable* table : state.tables) {
    *state.rank.add_table() = to_state(table->name(), table->content().counters());
  }
  // Follows the hooks, since a hook may make a request while it saves.
  parts_.requests.save(point, &state.shared, &state.rank);
  parts_.position.save(parts_.rank, &state.shared, &state.rank);
  return state;
}

absl::Status TrainerState::save_report(ReportState& state) {
  return catch_part_exceptions("the report", [&] { return parts_.reporter.save_state(state); });
}

absl::Status TrainerState::load_report(const LoadedState& loaded, std::vector<std::string>* notes) {
  const auto rank = static_cast<size_t>(parts_.rank);
  const bool same_world = static_cast<int>(loaded.ranks.size()) == parts_.world_size;
  std::vector<const ReportState*> parts;
  for (size_t from = 0; from < loaded.ranks.size(); ++from) {
    if (same_world ? from == rank : rank == 0) parts.push_back(&loaded.ranks[from].report());
  }
  const absl::Status status = catch_part_exceptions("the report", [&] {
    return parts_.reporter.load_state(loaded.ranks[same_world ? rank : 0].report(), parts);
  });
  report_begins_anew_ = absl::IsInvalidArgument(status);
  if (!report_begins_anew_) return status;
  notes->push_back(absl::StrCat("the report begins anew: ", status.message()));
  return absl::OkStatus();
}

absl::Status TrainerState::load_holders(const LoadedState& loaded,
                                        std::vector<std::string>* notes) {
  StatesByName states;
  RETURN_IF_ERROR(add_states("object", loaded.shared.object(), &states));
  for (const RankState& rank : loaded.ranks) {
    RETURN_IF_ERROR(add_states("object", rank.object(), &states));
    RETURN_IF_ERROR(add_states("hook", rank.hook(), &states));
  }
  std::vector<StateHolder> all = parts_.hooks.state_holders();
  for (const StatePlacement placement : {StatePlacement::kOnce, StatePlacement::kPerRank}) {
    for (StateHolder& holder : holders(placement)) all.push_back(std::move(holder));
  }
  return load_states(all, states, notes);
}

// Returns the state of this rank that load_report() and load_holders() change, to undo the change.
absl::StatusOr<LoadedState> TrainerState::save_holders() {
  LoadedState now;
  RankState& rank = now.ranks.emplace_back();
  ASSIGN_OR_RETURN(*now.shared.mutable_object(),
                   save_states(holders(StatePlacement::kOnce), /*empty_too=*/true));
  ASSIGN_OR_RETURN(*rank.mutable_object(),
                   save_states(holders(StatePlacement::kPerRank), /*empty_too=*/true));
  ASSIGN_OR_RETURN(*rank.mutable_hook(),
                   save_states(parts_.hooks.state_holders(), /*empty_too=*/true));
  RETURN_IF_ERROR(save_report(*rank.mutable_report()));
  return now;
}

// Loads report, holders and tensors, or nothing after an error.
absl::Status TrainerState::load_all(const TrainState& target, LoadedState& loaded,
                                    std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const LoadedState before, save_holders());
  absl::Status status = load_report(loaded, notes);
  if (status.ok()) status = load_holders(loaded, notes);
  if (status.ok()) {
    status = catch_exceptions("copying tensors", [&] {
      return put_state(target, parts_.rank, parts_.world_size, loaded);
    });
    std::vector<std::string> known;
    if (!status.ok()) status.Update(load_holders(before, &known));
  }
  if (status.ok()) return status;
  const ReportState* own = &before.ranks[0].report();
  status.Update(parts_.reporter.load_state(*own, {&own, 1}));
  return status;
}

absl::Status TrainerState::restore(LoadedState loaded, std::vector<std::string>* notes) {
  const TrainState target = parts_.model.tensors_and_tables();
  ASSIGN_OR_RETURN(LoopPosition position,
                   LoopPosition::load(loaded.shared, loaded.ranks, parts_.rank, parts_.world_size));
  ASSIGN_OR_RETURN(DeferredRequests deferred, parts_.requests.load(loaded.shared, loaded.ranks));
  RETURN_IF_ERROR(check_state(target, parts_.rank, parts_.world_size, loaded));
  std::vector<std::string> found;
  RETURN_IF_ERROR(check_data(loaded, &found));
  RETURN_IF_ERROR(load_all(target, loaded, &found));
  // No operation after this line fails.
  if (report_begins_anew_) parts_.reporter.start_tables();
  parts_.position = std::move(position);
  parts_.requests.restore(std::move(deferred));
  parts_.evaluations.restore(loaded.shared, &found);
  began_with_ = loaded.shared.began_with();
  restored_columns_ = loaded.shared.train_data().column();
  notes->insert(notes->end(), found.begin(), found.end());
  return absl::OkStatus();
}

}  // namespace millrace
