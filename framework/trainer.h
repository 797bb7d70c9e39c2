// The trainer, which owns the parts and runs the loop.
#ifndef MILLRACE_FRAMEWORK_TRAINER_H_
#define MILLRACE_FRAMEWORK_TRAINER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state/checkpointable.h"
#include "framework/report/summary.h"
#include "framework/trainer_parts.h"
#include "hook/hook.h"
#include "hook/hook_statistics.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

class EmbeddingCollection;
class TrainerLoop;
struct LoadedState;
struct TrainState;

// Trains and evaluates a model. Used by one thread, which also calls every hook. The trainer starts
// one more thread, which cancels a dataset that gives no batch for data_timeout.
//
//   ASSIGN_OR_RETURN(auto trainer, Trainer::create(options, std::move(parts)));
//   RETURN_IF_ERROR(trainer->add_hook(std::make_unique<MyHook>()));
//   ASSIGN_OR_RETURN(Summary summary, trainer->train());
//
// Each rank of a job has its own Trainer, made from the same options and hooks, and its share of
// the data. A hook with metrics is on every rank, whether it writes there or not. All ranks start,
// step, evaluate and end together. docs/distributed.md describes the exchanges of the ranks.
//
// Each step has these parts:
//  * the micro-batches of step k have been read; the trainer reads the batches of step k + 1, if
//    any;
//  * the step exchange begins; before_step;
//  * the train step with after_data; its commit exchange waits for the step exchange, sums
//    gradients and makes the decision of the ranks; after_backward; the update;
//  * Progress advances; after_step; reports;
//  * common requests are served, then the requests of single ranks from the step exchange.
//
// With one rank, both exchanges return this rank's own values, at the same places.
class Trainer {
 public:
  // Creates a trainer. Errors: InvalidArgument for missing parts, numbers out of range, two
  // evaluation sets or two tables of one name, FLOAT16 with a train step that cannot repeat, or
  // more ranks than a table has parts; NotFound for an unknown metric.
  static absl::StatusOr<std::unique_ptr<Trainer>> create(TrainerOptions options,
                                                         TrainerParts parts);
  ~Trainer();

  // Adds a hook. Hooks are called in the order of their addition. Not during a run.
  absl::Status add_hook(std::unique_ptr<Hook> hook, OnError on_error = OnError::kFail);
  // Adds several hooks with the same OnError. Errors: the error of the first hook that cannot be
  // added; hooks before it stay.
  absl::Status add_hooks(std::vector<std::unique_ptr<Hook>> hooks,
                         OnError on_error = OnError::kFail);
  std::vector<std::string> hook_names() const;

  // Trains until the data, a limit of the options or of `limits` ends training or a hook stops it.
  // A further call continues from the current position; the end of a run at a limit of its own
  // leaves training unfinished. All ranks pass equal limits. If the time of a call ends while a
  // batch is waited for, the data source is cancelled, and no further run reads. Errors: the first
  // error of a hook, the data, the model or an optimizer, returned after every hook got `end`;
  // InvalidArgument for a negative limit. summary() then describes the progress of the failed run.
  absl::StatusOr<Summary> train(const RunLimits& limits = {});

  // Trains as train() does, then evaluates every set at the end unless one rank stopped the run.
  absl::StatusOr<Summary> train_and_evaluate(const RunLimits& limits = {});

  // Evaluates one of the evaluation sets. Limits that are not set are those of the options. Errors:
  // NotFound naming the nearest set; otherwise as run_evaluation().
  absl::StatusOr<EvaluationResult> evaluate(absl::string_view set_name,
                                            const EvaluationLimits& limits = {});
  // Evaluates any data: one epoch, or of a WindowedDataset the windows that are ready. Empty
  // options.tasks and options.metrics and limits of 0 default to the trainer's; options.compute is
  // always the trainer's.
  absl::StatusOr<EvaluationResult> evaluate(Dataset& data, EvaluationOptions options);

  // Calls `consumer` with the predictions of each batch of an evaluation set, on the trainer's
  // thread. With several ranks, each rank has the predictions of its share of the data. May be
  // repeated. Hooks get the events of an evaluation except after_evaluate. Returns the result
  // without metrics. Errors: as evaluate(), and errors of `consumer`.
  absl::StatusOr<EvaluationResult> predict(absl::string_view set_name,
                                           const PredictionConsumer& consumer,
                                           const EvaluationLimits& limits = {});
  // Does the same with any data. `options`: see evaluate(Dataset&).
  absl::StatusOr<EvaluationResult> predict(Dataset& data, const PredictionConsumer& consumer,
                                           EvaluationOptions options = {});

  // Registers an object of the job whose state checkpoints include. Borrowed. Not during a run.
  // Errors: AlreadyExists for a name that is taken, InvalidArgument for an empty name.
  absl::Status add_state(absl::string_view name, Checkpointable& object, StatePlacement placement);

  // Returns everything on which the next step depends, between two runs. Reads the tensors of steps
  // that are not reported yet; changes nothing. Errors: FailedPrecondition during a run; errors of
  // hooks and registered objects, with their names.
  absl::StatusOr<TrainState> capture();
  // Restores a captured state, so that train() continues as if never interrupted. Called between
  // runs, before data is read. `notes` gets a line for each hook or registered object that is new
  // or missing, for different data, and for a report that restarts. Errors: InvalidArgument listing
  // all names, types and shapes of tensors and tables that differ or, if an epoch is open, the
  // training files that differ (between epochs only a note); DataLoss for damaged parts; errors of
  // hooks and registered objects, with their names. After an error, nothing has changed.
  absl::Status restore(LoadedState loaded, std::vector<std::string>* notes);

  // Resumes from the newest checkpoint of the saver. Returns none if no checkpoint exists. Called
  // on all ranks, between runs. `notes` gets the lines of restore(), and lines about damaged
  // checkpoints that were skipped and about state that was not saved and restarts. Errors:
  // FailedPrecondition without a saver; otherwise as StateSaver and restore().
  absl::StatusOr<std::optional<CheckpointInfo>> resume(std::vector<std::string>* notes);
  // Resumes from the checkpoint at `path`. Errors: as resume(), and NotFound.
  absl::StatusOr<CheckpointInfo> resume_from(const std::string& path,
                                             std::vector<std::string>* notes);
  // Initializes the model from the model bank, if no checkpoint is resumed; without a bank, the
  // model stays as created. Called on all ranks, between runs. `notes`: see restore(). Errors: as
  // StateLoader and restore().
  absl::Status load_model_bank(std::vector<std::string>* notes);
  // Loads, from the model bank, dense tensors and tables that a checkpoint omits, as resume() does
  // if necessary. `began_with`: the files with which training began, according to the checkpoint;
  // other files are refused. Returns the names that no source provides; their tensors and tables
  // stay unchanged. Errors: as StateLoader::fill().
  using ReferredFiles = google::protobuf::RepeatedPtrField<CheckpointManifest::ReferredFile>;
  absl::StatusOr<std::vector<std::string>> load_left_out(const std::vector<std::string>& names,
                                                         const ReferredFiles& began_with);
  // Returns table → rows, over all ranks. Called on all ranks, between runs. Errors: any error of
  // Collectives.
  absl::StatusOr<std::map<std::string, int64_t>> count_rows();
  // Saves a checkpoint between runs, durable on return. Hooks are not notified. Called on all
  // ranks. Errors: FailedPrecondition without a saver, during a run, or after a run that failed
  // within a step; otherwise as capture() and StateSaver.
  absl::StatusOr<CheckpointInfo> save_checkpoint();
  // Returns the reason if training is finished: "stopped: ..." or "completed". The data, a limit or
  // a decision of all ranks has then ended training, and the state was saved, so train() would have
  // nothing to do. None: training is not finished.
  std::optional<std::string> finished() const;

  const Progress& progress() const;
  // Returns the best score so far, over resumes. None: no score is kept, or no step has a score.
  std::optional<BestSummary> best() const;
  const Summary& summary() const;  // of the last run
  // Returns true if a data source was given up: its threads may hang, and destroying the trainer
  // may hang with them. After a stop during a wait for data, no further run reads.
  bool data_hangs() const;
  // Leaves the job, as the destructor does: ranks that still wait for this rank get an error. Meant
  // for a process that ends without destroying the trainer because its data hangs. Takes at most
  // some seconds. Only the destructor may follow.
  void leave_job();
  Model& model();
  const std::vector<EmbeddingCollection*>& collections() const;
  // Returns every dense parameter, by name.
  const std::vector<NamedParameter>& parameters() const;

 private:
  explicit Trainer(std::unique_ptr<TrainerLoop> loop);

  const std::unique_ptr<TrainerLoop> loop_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_H_
