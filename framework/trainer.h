// The trainer: owns the parts and runs the loop.
#ifndef MILLRACE_FRAMEWORK_TRAINER_H_
#define MILLRACE_FRAMEWORK_TRAINER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/checkpointable.h"
#include "checkpoint/named_states.h"
#include "checkpoint/train_state.h"
#include "framework/events.h"
#include "framework/hook.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/loop_position.h"
#include "framework/loop/training_clock.h"
#include "framework/on_error.h"
#include "framework/paired_evaluation.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/commit_exchange.h"
#include "framework/summary.h"
#include "framework/trainer_parts.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

class EmbeddingCollection;

// Trains and evaluates. Used by one thread, which also calls every hook. It starts one of its own,
// which cancels a dataset that gives no batch for data_timeout.
//
//   ASSIGN_OR_RETURN(auto trainer, Trainer::create(options, std::move(parts)));
//   RETURN_IF_ERROR(trainer->add_hook(std::make_unique<MyHook>()));
//   ASSIGN_OR_RETURN(Summary summary, trainer->train());
//
// Over several ranks each has a Trainer of its own, made from the same options and hooks (those
// with metrics alike, whether they write or not), and its share of the data; all of them start,
// step, evaluate and end together. docs/distributed.md says what each rank hears of the others.
//
// One step: all micro-batches of step k are in hand, and those of step k + 1 are fetched (or it is
// known that there are none); the step exchange begins; before_step; the train step with after_data
// and, in its commit exchange, the step exchange is waited for, gradients are summed and the ranks
// decide; after_backward, update; Progress advances; after_step; reports; common requests are
// served; then what single ranks asked for in the exchange. With one rank both exchanges say what
// this rank said, at the same places.
class Trainer {
 public:
  // Errors: InvalidArgument for missing parts, numbers out of range, two evaluation sets of one
  // name, tables with more than one rank; NotFound for an unknown metric.
  static absl::StatusOr<std::unique_ptr<Trainer>> create(TrainerOptions options,
                                                         TrainerParts parts);
  ~Trainer();

  // Hooks are called in the order they were added. Not during a run.
  absl::Status add_hook(std::unique_ptr<Hook> hook, OnError on_error = OnError::kFail);
  std::vector<std::string> hook_names() const;

  // Trains until the data or a limit ends it or a hook stops it. Called again, it goes on where
  // it stood. Errors: the first of a hook, the data, the model or an optimizer, after every hook
  // got `end`; summary() then tells how far it came.
  absl::StatusOr<Summary> train();

  // The same, and evaluates every set at the end unless the run was stopped from outside.
  absl::StatusOr<Summary> train_and_evaluate();

  // Evaluates one of the evaluation sets. Errors: NotFound naming the nearest; those of
  // run_evaluation.
  absl::StatusOr<EvaluationResult> evaluate(absl::string_view set_name);
  // Evaluates any data. options.tasks and options.metrics default to the trainer's if empty.
  absl::StatusOr<EvaluationResult> evaluate(Dataset& data, EvaluationOptions options);

  // Registers something of the job's own that goes with checkpoints; borrowed. Not during a run.
  // Errors: AlreadyExists for a name that is taken, InvalidArgument for an empty one.
  absl::Status add_state(absl::string_view name, Checkpointable& object, StatePlacement placement);

  // Everything the next step depends on: the state of a run that stands at this point, or of the
  // trainer between two runs. Reads the tensors of steps that are not reported yet; changes
  // nothing. Errors: FailedPrecondition during a run but where it saves; those of hooks and
  // registered objects, with their names.
  absl::StatusOr<TrainState> capture();
  // Makes this trainer one that stands where the state was captured: train() goes on from there as
  // if nothing had been. Between runs, and before data is read. `notes` gets a line for each hook
  // or registered object that is new or gone, other data, and for a report that begins anew.
  // Errors: InvalidArgument listing all names, types and shapes of tensors and tables that differ,
  // or, where an epoch is open, the files of the training data that do (between epochs a note);
  // DataLoss for damaged parts; those of hooks and registered objects, with their names. Nothing
  // has changed then.
  absl::Status restore(LoadedState loaded, std::vector<std::string>* notes);

  // Goes on from the newest checkpoint of the saver; none: there is none. On all ranks, between
  // runs. `notes`: as of restore, of damaged checkpoints that were passed over, and of what was not
  // saved and begins anew.
  // Errors: FailedPrecondition without a saver; those of StateSaver and restore.
  absl::StatusOr<std::optional<CheckpointInfo>> resume(std::vector<std::string>* notes);
  // The same from one at `path`. Errors: NotFound too.
  absl::StatusOr<CheckpointInfo> resume_from(const std::string& path,
                                             std::vector<std::string>* notes);
  // Begins with what the model bank gives, where nothing is resumed; without one, as the model is.
  // On all ranks, between runs. `notes`: as of restore. Errors: those of StateLoader and restore.
  absl::Status load_model_bank(std::vector<std::string>* notes);
  // Loads dense tensors and tables that a checkpoint was saved without from the model bank, as
  // resume() does where there is something left to do. `began_with`: files that training began
  // with, as the checkpoint says; others are refused. Returns: those that no source gives, which
  // stay as they are. Errors: those of StateLoader::fill.
  using ReferredFiles = google::protobuf::RepeatedPtrField<CheckpointManifest::ReferredFile>;
  absl::StatusOr<std::vector<std::string>> load_left_out(const std::vector<std::string>& names,
                                                         const ReferredFiles& began_with);
  // Whether training has come to its end, by its data, a limit or a decision of all ranks, and was
  // saved then: train() would have nothing to do. Why: "stopped: ...", "completed".
  std::optional<std::string> finished() const;

  const Progress& progress() const { return position_.progress; }
  const Summary& summary() const { return summary_; }  // of the last run
  // Returns true once a source of data was given up: its threads may hang, and so would whoever
  // destroys the trainer. After a stop that came while data was waited for, no further run reads.
  bool data_hangs() const { return feed_.gave_up(); }
  // Leaves the job, as destroying the trainer does: ranks that still wait for this one get an
  // error. For a process that ends without destroying the trainer, because its data hangs. Takes
  // some seconds at most. Only the destructor may follow.
  void leave_job();
  Model& model() { return *parts_.model; }
  const std::vector<EmbeddingCollection*>& collections() const { return collections_; }
  // Every dense parameter, by name.
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

 private:
  class Context;
  class Observer;
  class Ranks;
  struct Position;
  struct BegunSave;
  // How a pass over an epoch or a window ended.
  enum class PassEnd { kOutOfData, kCap, kInterrupted };

  Trainer(TrainerOptions options, TrainerParts parts);
  absl::Status initialize();

  // A run: start, `body`, end. What it returns is the outcome.
  template <typename Body>
  absl::Status run(Phase phase, const Body& body);

  // The loop; in trainer_loop.cc.
  absl::Status train_epochs();
  absl::Status check_parameters();
  absl::Status train_epoch();
  absl::Status open_epoch();
  absl::Status complete_epoch(bool out_of_data);
  absl::StatusOr<PassEnd> train_windows();
  absl::StatusOr<std::optional<WindowState>> wait_for_window(WindowedDataset& windows);
  absl::Status evaluate_window();
  absl::Status evaluate_paired(const Window& window);
  absl::Status complete_window(const Window& window, bool out_of_data);
  absl::StatusOr<PassEnd> train_pass(Place place, int64_t max_steps, bool may_be_empty);
  bool goes_on(const ExchangeResult& agreed) const;
  absl::Status drop_rest(std::unique_ptr<StepData> next);
  absl::Status check_interruption() const;
  absl::StatusOr<ExchangeResult> run_step(const StepData& data, int64_t examples,
                                          const StepData* next);
  absl::StatusOr<StepResult> compute_step(const StepData& data, int64_t examples,
                                          Observer& observer);
  absl::Status finish();
  void advance(const StepResult& result);
  void update_elapsed();
  RankShare share(const StepData* next) const;
  bool training_is_over() const;

  // State for checkpoints, in trainer_state.cc, and saving it, in trainer_saves.cc.
  TrainState state_parts();
  SharedState loop_state() const;
  void add_own_requests(RankState& state) const;
  std::vector<StateHolder> holders(StatePlacement placement) const;
  absl::Status find_data_identity();
  absl::Status check_data(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::StatusOr<Position> read_position(const LoadedState& loaded) const;
  absl::Status load_report(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::Status load_holders(const LoadedState& loaded, std::vector<std::string>* notes);
  absl::StatusOr<LoadedState> holders_now();
  absl::Status save(const RequestSet& asked, Scope scope);
  absl::Status poll_saves(const ExchangeResult& agreed);
  absl::Status finish_saves();
  absl::Status tell_of(absl::StatusOr<std::vector<CheckpointInfo>> durable);
  absl::Status reload();
  absl::Status save_at_end();
  absl::Status save_before_evaluation(const RequestSet& requests, Scope scope, bool at_end);
  void keep_unserved(const RequestSet& requests, Scope scope);
  absl::Status explain_failed_evaluation(const absl::Status& outcome) const;
  void save_after_failure();
  std::map<std::string, double> checkpoint_metrics() const;
  absl::Status go_on_from(FoundCheckpoint found, std::vector<std::string>* notes);

  // Requests, in trainer_requests.cc; reports and evaluations, in trainer.cc.
  absl::Status report_if_due();
  absl::Status report();
  absl::Status serve(const RequestSet& requests, Scope scope);
  absl::Status serve_each(const RequestSet& requests, Scope scope);
  absl::Status serve_common(bool marks = true);
  absl::Status serve_agreed(bool ending = false);
  void put_aside(const RequestSet& requests, RequestSet& aside);
  void ask_for_later();
  void stop(const RequestSet& requests, Scope scope);
  bool ends_here() const;
  bool stopped_by_rank(Scope scope) const;
  absl::StatusOr<std::optional<EvaluationResult>> evaluate_inside(Dataset& data,
                                                                  EvaluationOptions options);
  absl::Status mark_failed_evaluation(absl::Status failure);
  absl::StatusOr<RequestSet> evaluate_sets(const RequestSet& requests, Scope scope, bool only_new);
  absl::StatusOr<EvaluationSet*> find_set(absl::string_view name);
  void record(LoopEvent::Kind kind, absl::string_view what, absl::string_view detail);
  void record(LoopEvent::Kind kind, const Request& request, Scope scope);
  void record_served(Request::Kind kind, const RequestSet& requests, Scope scope);
  void fill_summary(const absl::Status& outcome);

  const TrainerOptions options_;
  TrainerParts parts_;
  Clock& clock_;
  TrainingClock training_;
  WindowedDataset* const windows_;  // parts_.train_data, if it comes in windows
  std::vector<std::unique_ptr<PairedEvaluation>> paired_;
  std::vector<EmbeddingCollection*> collections_;
  std::vector<NamedParameter> parameters_;
  std::unique_ptr<class HookList> hooks_;
  std::unique_ptr<class Reporter> reporter_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<CommitExchange> commit_;
  LoopPosition position_;
  BatchFeed feed_;
  Summary summary_;
  std::map<std::string, int64_t> last_evaluated_step_;
  bool running_ = false, stopped_ = false;
  bool served_any_ = false;   // request, since it was last looked at
  bool at_boundary_ = false;  // between steps: what a failure leaves is a state to save
  bool save_failed_ = false;
  bool evaluation_failed_ = false;  // within this run: the state of training is whole all the same
  int64_t saved_step_ = -1;         // steps done at the newest save of this run that began
  int64_t durable_step_ = -1;       // and at the newest that is durable
  bool interrupted_save_ = false;   // was asked for within an evaluation that a stop ended
  std::string checkpoint_;          // the newest that was saved, or else resumed from
  std::vector<BegunSave> begun_saves_;              // in their order
  std::map<std::string, double> restored_metrics_;  // of the checkpoint of this step
  int64_t restored_metrics_step_ = -1;
  ReferredFiles began_with_;
  const RequestSet* serving_ = nullptr;   // requests whose checkpoint is being made
  Scope serving_scope_ = Scope::kCommon;  // of what is served, or saved, now
  // Requests that were restored, and not used yet; also what a rank's stop came before.
  RequestSet restored_requests_;
  // The same of what this rank alone asked for: see RankState.
  RequestSet due_now_, due_later_;
  std::optional<DataIdentity> train_data_identity_;  // once it was looked at

  struct NamedObject {
    std::string name;
    Checkpointable* object = nullptr;
    StatePlacement placement = StatePlacement::kOnce;
  };
  std::vector<NamedObject> objects_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_H_
