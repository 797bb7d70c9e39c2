// The state of a trainer in checkpoints.
#ifndef MILLRACE_FRAMEWORK_LOOP_TRAINER_STATE_H_
#define MILLRACE_FRAMEWORK_LOOP_TRAINER_STATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state/checkpointable.h"
#include "checkpoint/state/named_states.h"
#include "checkpoint/state/train_state.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_state.h"
#include "framework/loop/trained_model.h"
#include "framework/report/reporter.h"
#include "hook/request_queue.h"
#include "io/dataset.h"
#include "io/hashed_columns.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Captures and restores everything on which the next step depends: tensors, optimizers, tables,
// hooks, registered objects, the report under way, position, deferred requests and evaluations.
// Used on the trainer's thread.
class TrainerState {
 public:
  // The parts with a state to capture and restore. All are borrowed and outlive this object.
  struct Parts {
    TrainedModel& model;
    Dataset* train_data;  // null: the trainer only evaluates
    HookList& hooks;
    Reporter& reporter;
    RequestQueue& requests;
    Evaluations& evaluations;
    LoopPosition& position;
    int rank;
    int world_size;
  };
  using ReferredFiles = google::protobuf::RepeatedPtrField<CheckpointManifest::ReferredFile>;

  explicit TrainerState(const Parts& parts) : parts_(parts) {}

  // See Trainer::add_state().
  absl::Status add_object(absl::string_view name, Checkpointable& object, StatePlacement placement);

  // Returns tensors, optimizers and tables with the progress, for a model bank.
  TrainState for_model_bank() const;

  // Returns the whole state. `point`: the requests of the moment of the save; null: between runs.
  // Errors: of hooks, registered objects and the identity of the data, with their names.
  absl::StatusOr<TrainState> capture(const SavePoint* point);
  // See Trainer::restore().
  absl::Status restore(LoadedState loaded, std::vector<std::string>* notes);

  // Returns the files with which training began.
  const ReferredFiles& began_with() const { return began_with_; }

 private:
  struct NamedObject {
    std::string name;
    Checkpointable* object = nullptr;
    StatePlacement placement = StatePlacement::kOnce;
  };

  std::vector<StateHolder> holders(StatePlacement placement) const;
  absl::Status find_data_identity();
  absl::Status check_data(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::Status save_report(ReportState& state);
  absl::Status load_report(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::Status load_holders(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::StatusOr<LoadedState> save_holders();
  absl::Status load_all(const TrainState& target, LoadedState& loaded,
                        std::vector<std::string>* notes);

  const Parts parts_;
  std::vector<NamedObject> objects_;
  // None until first needed, because finding the identity reads files. For data in windows it is
  // found again at each save.
  std::optional<DataIdentity> data_identity_;
  bool report_begins_anew_ = false;  // after the last load_report()
  HashedColumns restored_columns_;   // of the data of earlier runs
  ReferredFiles began_with_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_TRAINER_STATE_H_
