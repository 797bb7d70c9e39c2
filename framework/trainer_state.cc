// What of a trainer goes into checkpoints, and how it comes back.
#include <torch/nn/module.h>

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "checkpoint/state_messages.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"
#include "io/data_identity.h"

namespace millrace {
namespace {

using PendingRequests = google::protobuf::RepeatedPtrField<PendingRequest>;

void add_pending(const RequestSet& requests, const std::set<Request::Kind>& without,
                 PendingRequests* all) {
  for (const Request& request : requests.asked) {
    if (without.count(request.kind) > 0) continue;
    PendingRequest& pending = *all->Add();
    pending.set_kind(request.kind);
    pending.set_detail(request.detail);
    pending.set_hook(request.hook);
  }
}

absl::StatusOr<RequestSet> from_state(const PendingRequests& all, int rank) {
  RequestSet requests;
  for (const PendingRequest& pending : all) {
    if (pending.kind() < Request::kEvaluate || pending.kind() > Request::kStop) {
      return absl::DataLossError(
          absl::StrCat("a pending request is damaged: its kind is ", pending.kind()));
    }
    requests.add(
        {static_cast<Request::Kind>(pending.kind()), pending.detail(), pending.hook(), rank});
  }
  return requests;
}

}  // namespace

// What is read of a loaded state before anything changes.
struct Trainer::Position {
  LoopPosition loop;
  RequestSet requests, due_now, due_later;
};

absl::Status Trainer::add_state(absl::string_view name, Checkpointable& object,
                                StatePlacement placement) {
  if (running_) return absl::FailedPreconditionError("add_state() during a run");
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

std::vector<StateHolder> Trainer::holders(StatePlacement placement) const {
  std::vector<StateHolder> holders;
  for (const NamedObject& object : objects_) {
    if (object.placement != placement) continue;
    const auto save = [&object](ObjectState& state) {
      return guarded("save_state", [&] { return object.object->save_state(state); });
    };
    const auto load = [&object](absl::Span<const ObjectState> per_rank) {
      return guarded("load_state", [&] { return object.object->load_state(per_rank); });
    };
    holders.push_back({"object", object.name, save, load});
  }
  return holders;
}

// The parts without the messages.
TrainState Trainer::state_parts() {
  TrainState state;
  state.dense = parameters_;
  for (const auto& buffer : parts_.model->named_buffers()) {
    state.dense.push_back({buffer.key(), buffer.value()});
  }
  for (const auto& optimizer : parts_.dense_optimizers) {
    state.dense_optimizers.push_back(optimizer.get());
  }
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) state.tables.push_back(table.get());
  }
  return state;
}

SharedState Trainer::loop_state() const {
  SharedState state;
  *state.mutable_began_with() = began_with_;
  for (const auto& [set, step] : last_evaluated_step_) {
    EvaluatedSet& evaluated = *state.add_evaluated();
    evaluated.set_set(set);
    evaluated.set_step(step);
  }
  PendingRequests* const pending = state.mutable_pending();
  add_pending(restored_requests_, {}, pending);
  if (serving_ == nullptr) return state;
  // Of the set that is served, evaluations are done.
  add_pending(*serving_, {Request::kEvaluate, Request::kCheckpoint}, pending);
  add_pending(context_->requests().common(), {Request::kCheckpoint}, pending);
  if (stopped_ && !summary_.stopped_by_rank && !position_.finished) {
    // Still to be done by who goes on.
    RequestSet stop;
    stop.add({Request::kStop, summary_.stop_reason, "", context_->rank()});
    add_pending(stop, {}, pending);
  }
  return state;
}

// Neither stops, which are for this run, nor checkpoints: this is one.
void Trainer::add_own_requests(RankState& state) const {
  RequestSet now = due_now_, later = due_later_;
  if (serving_ != nullptr) {
    // After common requests, what exchanges have carried is served at this step. So is, with more
    // ranks, what hooks ask for now: the exchange before they save carries it.
    const bool served_next = serving_scope_ == Scope::kCommon;
    (served_next ? now : later).merge(agreement_->carried());
    const bool carried_next = served_next && context_->world_size() > 1;
    (carried_next ? now : later).merge(context_->requests().this_rank());
  }
  add_pending(now, {Request::kCheckpoint, Request::kStop}, state.mutable_due_now());
  add_pending(later, {Request::kCheckpoint, Request::kStop}, state.mutable_due_later());
}

// Reads files, so once is enough.
absl::Status Trainer::find_data_identity() {
  if (train_data_identity_.has_value() || parts_.train_data == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(train_data_identity_, parts_.train_data->identity(), "the training data");
  return absl::OkStatus();
}

// A position in other data means nothing.
absl::Status Trainer::check_data(const LoadedState& loaded, std::vector<std::string>* notes) {
  if (!loaded.shared.has_train_data()) return absl::OkStatus();
  RETURN_IF_ERROR(find_data_identity());
  if (!train_data_identity_.has_value()) return absl::OkStatus();
  const std::vector<std::string> lines =
      data_differences(loaded.shared.train_data(), *train_data_identity_);
  if (lines.empty()) return absl::OkStatus();
  const std::string message =
      absl::StrCat("the training data is not what it was: ", absl::StrJoin(lines, "; "));
  if (!loaded.ranks.empty() && loaded.ranks[0].cursor_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(message, " (the state is one within an epoch of it)"));
  }
  notes->push_back(message);
  return absl::OkStatus();
}

absl::StatusOr<TrainState> Trainer::capture() {
  if (running_ && serving_ == nullptr) {
    return absl::FailedPreconditionError("capture() during a run, but not where it is served");
  }
  RETURN_IF_ERROR(find_data_identity());
  TrainState state = state_parts();
  state.shared = loop_state();
  if (train_data_identity_.has_value() && train_data_identity_->file_size() > 0) {
    *state.shared.mutable_train_data() = *train_data_identity_;
  }
  ASSIGN_OR_RETURN(*state.shared.mutable_object(), save_states(holders(StatePlacement::kOnce)));
  ASSIGN_OR_RETURN(*state.rank.mutable_object(), save_states(holders(StatePlacement::kPerRank)));
  ASSIGN_OR_RETURN(*state.rank.mutable_hook(), save_states(hooks_->state_holders()));
  RETURN_IF_ERROR(
      guarded("the report", [&] { return reporter_->save_state(*state.rank.mutable_report()); }));
  for (const EmbeddingTable* table : state.tables) {
    *state.rank.add_table() = to_state(table->name(), table->content().counters());
  }
  add_own_requests(state.rank);
  position_.save(context_->rank(), &state.shared, &state.rank);
  return state;
}

absl::StatusOr<Trainer::Position> Trainer::read_position(const LoadedState& loaded) const {
  Position position;
  const int rank = context_->rank();
  ASSIGN_OR_RETURN(position.loop,
                   LoopPosition::load(loaded.shared, loaded.ranks, rank, context_->world_size()));
  ASSIGN_OR_RETURN(position.requests, from_state(loaded.shared.pending(), rank));
  // Where there are other ranks now, the first asks for what all had asked for.
  const bool same_world = static_cast<int>(loaded.ranks.size()) == context_->world_size();
  for (size_t from = 0; from < loaded.ranks.size(); ++from) {
    if (same_world ? static_cast<int>(from) != rank : rank != 0) continue;
    ASSIGN_OR_RETURN(const RequestSet now, from_state(loaded.ranks[from].due_now(), rank));
    ASSIGN_OR_RETURN(const RequestSet later, from_state(loaded.ranks[from].due_later(), rank));
    position.due_now.merge(now);
    position.due_later.merge(later);
  }
  return position;
}

absl::Status Trainer::load_report(const LoadedState& loaded, std::vector<std::string>* notes) {
  const auto rank = static_cast<size_t>(context_->rank());
  const bool same_world = static_cast<int>(loaded.ranks.size()) == context_->world_size();
  std::vector<const ReportState*> parts;
  for (size_t from = 0; from < loaded.ranks.size(); ++from) {
    if (same_world ? from == rank : rank == 0) parts.push_back(&loaded.ranks[from].report());
  }
  const absl::Status status =
      reporter_->load_state(loaded.ranks[same_world ? rank : 0].report(), parts);
  if (!absl::IsInvalidArgument(status)) return status;
  notes->push_back(absl::StrCat("the report begins anew: ", status.message()));
  return absl::OkStatus();
}

absl::Status Trainer::load_holders(const LoadedState& loaded, std::vector<std::string>* notes) {
  StatesByName states;
  RETURN_IF_ERROR(add_states("object", loaded.shared.object(), &states));
  for (const RankState& rank : loaded.ranks) {
    RETURN_IF_ERROR(add_states("object", rank.object(), &states));
    RETURN_IF_ERROR(add_states("hook", rank.hook(), &states));
  }
  std::vector<StateHolder> all = hooks_->state_holders();
  for (const StatePlacement placement : {StatePlacement::kOnce, StatePlacement::kPerRank}) {
    for (StateHolder& holder : holders(placement)) all.push_back(std::move(holder));
  }
  return load_states(all, states, notes);
}

// What load_report and load_holders change, to undo it: of this rank alone.
absl::StatusOr<LoadedState> Trainer::holders_now() {
  LoadedState now;
  RankState& rank = now.ranks.emplace_back();
  ASSIGN_OR_RETURN(*now.shared.mutable_object(),
                   save_states(holders(StatePlacement::kOnce), /*empty_too=*/true));
  ASSIGN_OR_RETURN(*rank.mutable_object(),
                   save_states(holders(StatePlacement::kPerRank), /*empty_too=*/true));
  ASSIGN_OR_RETURN(*rank.mutable_hook(), save_states(hooks_->state_holders(), /*empty_too=*/true));
  RETURN_IF_ERROR(reporter_->save_state(*rank.mutable_report()));
  return now;
}

absl::Status Trainer::restore(LoadedState loaded, std::vector<std::string>* notes) {
  if (running_) return absl::FailedPreconditionError("restore() during a run");
  const TrainState target = state_parts();
  ASSIGN_OR_RETURN(Position position, read_position(loaded));
  RETURN_IF_ERROR(check_state(target, context_->rank(), context_->world_size(), loaded));
  std::vector<std::string> found;
  RETURN_IF_ERROR(check_data(loaded, &found));
  ASSIGN_OR_RETURN(const LoadedState former, holders_now());
  absl::Status status = load_report(loaded, &found);
  if (status.ok()) status = load_holders(loaded, &found);
  if (status.ok()) {
    status = guarded("copying tensors", [&] {
      return put_state(target, context_->rank(), context_->world_size(), loaded);
    });
    std::vector<std::string> known;
    if (!status.ok()) status.Update(load_holders(former, &known));
  }
  if (!status.ok()) {
    const ReportState* own = &former.ranks[0].report();
    status.Update(reporter_->load_state(*own, {&own, 1}));
    return status;
  }
  position_ = std::move(position.loop);
  began_with_ = loaded.shared.began_with();
  last_evaluated_step_.clear();
  for (const EvaluatedSet& set : loaded.shared.evaluated()) {
    last_evaluated_step_[set.set()] = set.step();
  }
  restored_requests_ = std::move(position.requests);
  due_now_ = std::move(position.due_now);
  due_later_ = std::move(position.due_later);
  notes->insert(notes->end(), found.begin(), found.end());
  return absl::OkStatus();
}

absl::Status Trainer::reload() {
  if (parts_.model_bank == nullptr || !parts_.model_bank->dynamic()) {
    return absl::FailedPreconditionError(
        "a hook asked for a reload, but this trainer has no model bank with a dynamic source");
  }
  RETURN_IF_ERROR(finish_saves());  // which read the tables as they are
  TrainState target = state_parts();
  *target.shared.mutable_progress() = to_state(position_.progress);
  RETURN_IF_ERROR(agreement_->meet({"reload", position_.steps_done()}));
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  const absl::StatusOr<bool> changed = parts_.model_bank->reload(target, *parts_.collectives);
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
  RETURN_IF_ERROR(changed.status(), "reloading");
  if (!*changed) return absl::OkStatus();
  // What is known of the model is known of a former one.
  last_evaluated_step_.clear();
  restored_metrics_step_ = -1;
  return absl::OkStatus();
}

absl::Status Trainer::go_on_from(FoundCheckpoint found, std::vector<std::string>* notes) {
  notes->insert(notes->end(), found.notes.begin(), found.notes.end());
  const std::vector<std::string> left_out = found.state.left_out;
  const absl::Status status = restore(std::move(found.state), notes);
  if (!status.ok()) {
    // Others may have restored theirs; the job cannot go on.
    parts_.collectives->fail(status);
    return annotate(status, found.info.path);
  }
  if (!finished().has_value()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> fresh, load_left_out(left_out, began_with_),
                     absl::StrCat("the model bank, for what ", found.info.path, " lacks"));
    if (!fresh.empty()) {
      notes->push_back(absl::StrCat(found.info.path, " was saved without ",
                                    absl::StrJoin(fresh, ", "), ", which begin anew"));
    }
  }
  parts_.saver->restored(found.info);
  checkpoint_ = found.info.path;
  restored_metrics_ = std::move(found.metrics);
  restored_metrics_step_ = position_.progress.step;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CheckpointInfo>> Trainer::resume(std::vector<std::string>* notes) {
  if (parts_.saver == nullptr) return absl::FailedPreconditionError("there is no saver");
  ASSIGN_OR_RETURN(const TrainState target, capture());
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  ASSIGN_OR_RETURN(std::optional<FoundCheckpoint> found,
                   parts_.saver->restore(target, *parts_.collectives));
  parts_.collectives->set_phase(RankPhase::kStart, position_.steps_done());
  if (!found.has_value()) return std::optional<CheckpointInfo>();
  const CheckpointInfo info = found->info;
  RETURN_IF_ERROR(go_on_from(*std::move(found), notes));
  return std::optional<CheckpointInfo>(info);
}

absl::StatusOr<CheckpointInfo> Trainer::resume_from(const std::string& path,
                                                    std::vector<std::string>* notes) {
  if (parts_.saver == nullptr) return absl::FailedPreconditionError("there is no saver");
  ASSIGN_OR_RETURN(const TrainState target, capture());
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  ASSIGN_OR_RETURN(FoundCheckpoint found,
                   parts_.saver->restore_from(path, target, *parts_.collectives));
  parts_.collectives->set_phase(RankPhase::kStart, position_.steps_done());
  const CheckpointInfo info = found.info;
  RETURN_IF_ERROR(go_on_from(std::move(found), notes));
  return info;
}

absl::Status Trainer::load_model_bank(std::vector<std::string>* notes) {
  if (parts_.model_bank == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TrainState target, capture());
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  ASSIGN_OR_RETURN(LoadedState loaded, parts_.model_bank->load(target, *parts_.collectives));
  parts_.collectives->set_phase(RankPhase::kStart, position_.steps_done());
  const absl::Status status = restore(std::move(loaded), notes);
  if (!status.ok()) parts_.collectives->fail(status);
  return status;
}

absl::StatusOr<std::vector<std::string>> Trainer::load_left_out(
    const std::vector<std::string>& names, const ReferredFiles& began_with) {
  if (names.empty() || parts_.model_bank == nullptr) return names;
  TrainState target = state_parts();
  *target.shared.mutable_progress() = to_state(position_.progress);
  *target.shared.mutable_began_with() = began_with;
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  auto fresh = parts_.model_bank->fill(target, names, *parts_.collectives);
  parts_.collectives->set_phase(RankPhase::kStart, position_.steps_done());
  return fresh;
}

std::optional<std::string> Trainer::finished() const {
  if (!position_.finished) return std::nullopt;
  if (!position_.stopped_for.empty()) return absl::StrCat("stopped: ", position_.stopped_for);
  // Limits may be others than they were.
  if (position_.stream_ended ||
      (limit_reached(options_, position_.progress) && !position_.data_ended))
    return "completed";
  return std::nullopt;
}

}  // namespace millrace
