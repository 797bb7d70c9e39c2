// The evaluations of a trainer.
#ifndef MILLRACE_FRAMEWORK_LOOP_EVALUATIONS_H_
#define MILLRACE_FRAMEWORK_LOOP_EVALUATIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state/checkpointable.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/best_score.h"
#include "framework/loop/evaluation_options.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/trained_model.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/table_exchange.h"
#include "framework/report/resource_use.h"
#include "hook/events.h"
#include "hook/requests.h"
#include "io/dataset.h"
#include "io/windowed_dataset.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// Evaluates one window of a set after each training window. Checkpoints, which are made while no
// window of the set is open, include the position.
class PairedEvaluation : public Checkpointable {
 public:
  explicit PairedEvaluation(PairedSet set);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  // Returns true if the set was evaluated for this training window (Window::index).
  bool was_evaluated(int64_t training_window) const { return training_window <= last_paired_; }

  // Returns the stream at its position; next_window() gives the window to evaluate. Errors: as
  // seek().
  absl::StatusOr<WindowedDataset*> stream();
  // Returns the open window as a dataset of one epoch.
  Dataset& open_window() { return *open_window_; }
  // Records that `window` was evaluated for this training window.
  void evaluated(const Window& window, int64_t training_window);

  absl::Status save_state(ObjectState& state) const override;
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override;

 private:
  class OpenWindow;

  const std::string name_;
  const std::vector<std::string> metrics_;
  const std::unique_ptr<WindowedDataset> windows_;
  const std::unique_ptr<Dataset> open_window_;
  bool begun_ = false;
  int64_t last_paired_ = -1;  // window of training
  Cursor cursor_;             // after the last window evaluated, if any
};

// Result of an evaluation within a run.
struct Evaluated {
  // None: a rank asked to stop before the evaluation ended.
  std::optional<EvaluationResult> result;
  // Requests of single ranks from the exchange that ended the evaluation.
  RequestSet asked;
};

// Returns the names of evaluation sets, in their order.
std::vector<std::string> names_of(const std::vector<EvaluationSet>& sets);

// Returns options of an evaluation of this name, with these metrics (none: the defaults).
EvaluationOptions named(const std::string& set, const std::vector<std::string>& metrics = {});

// Returns the options of an evaluation of this set.
EvaluationOptions options_of(const EvaluationSet& set);

// Owns the evaluation sets and runs evaluations. Keeps the step and the metrics of the last
// evaluation of each set, and the best score; checkpoints include both. Used on the trainer's
// thread.
class Evaluations {
 public:
  // Parts of the loop. All are borrowed and outlive this object.
  struct Parts {
    TrainedModel& model;
    HookList& hooks;
    LoopContext& context;
    Agreement& agreement;
    BatchFeed& feed;
    TrainingClock& training;          // paused during an evaluation
    TableExchange* tables = nullptr;  // null: tables are not sharded over ranks
  };

  // `paired`: sets of which one window is evaluated after each training window. `defaults`: tasks,
  // metrics and limits of evaluations without these options.
  Evaluations(const Parts& parts, std::vector<EvaluationSet> sets, std::vector<PairedSet> paired,
              EvaluationOptions defaults, BestScoreOptions best = {});

  void begin_run();

  // Returns the set of this name. Errors: NotFound naming the nearest set.
  absl::StatusOr<EvaluationSet*> find(absl::string_view name);
  // Returns the sets named by `requests`, each once, in the order of names(). Errors: as find().
  absl::StatusOr<std::vector<EvaluationSet*>> requested(const RequestSet& requests);
  std::vector<std::string> names() const { return names_of(sets_); }

  // Evaluates `data` on all ranks, with the moving averages in place of the parameters if averages
  // are evaluated. `state_is_whole`: true if the state of training can be saved after a failure.
  // Errors: as run_evaluation(). Errors within training are marked as the failure of an evaluation
  // (base/failure_kind.h), and failed() returns true.
  absl::StatusOr<Evaluated> run(Dataset& data, EvaluationOptions options, bool state_is_whole);
  // Returns true if an evaluation of this run failed on this rank. Also true if it failed on
  // another rank while the state of training was whole on all ranks.
  bool failed() const { return failed_; }

  const std::vector<std::unique_ptr<PairedEvaluation>>& paired() const { return paired_; }

  // Records that the set was evaluated at this step. Returns true if the step then has a new best
  // score.
  bool note(const std::string& set);
  // Returns true if the set was evaluated at this step.
  bool is_current(const std::string& set) const;
  // Returns "set/metric" → value, for sets that were evaluated at this step.
  std::map<std::string, double> current_metrics() const;
  // Returns the best score, over resumes; none: no score is kept, or no step has a score.
  const std::optional<BestScore::Best>& best() const { return best_.best(); }
  // Returns its description: BestScore::name().
  std::string best_name() const { return best_.name(); }

  // Drops results, after a change of the model without a step.
  void forget();
  void save(SharedState* state) const;
  // `notes`: see BestScore::restore().
  void restore(const SharedState& state, std::vector<std::string>* notes);
  // Sets the metrics of the checkpoint, at this step, from which training resumed.
  void restore_metrics(std::map<std::string, double> metrics);

 private:
  class Ranks;
  absl::Status mark_failure(absl::Status failure);
  // Logs check_evaluation() on rank 0, each subject once per run and set.
  void warn(const EvaluationResult& result, const EvaluationOptions& options);

  int64_t step() const { return parts_.context.progress().step; }

  const Parts parts_;
  std::vector<EvaluationSet> sets_;
  std::vector<std::unique_ptr<PairedEvaluation>> paired_;
  const EvaluationOptions defaults_;
  std::map<std::string, int64_t> last_step_;                      // set → step
  std::map<std::string, std::map<std::string, double>> metrics_;  // set → of this run
  std::map<std::string, double> restored_metrics_;
  int64_t restored_step_ = -1;  // of restored_metrics_
  BestScore best_;
  std::set<std::pair<std::string, std::string>> warned_;  // set and EvaluationWarning::subject
  bool failed_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_EVALUATIONS_H_
