// Serves the requests of hooks.
#ifndef MILLRACE_FRAMEWORK_LOOP_REQUEST_SERVER_H_
#define MILLRACE_FRAMEWORK_LOOP_REQUEST_SERVER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/loop/checkpoint_keeper.h"
#include "framework/loop/evaluation_options.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/loop_state.h"
#include "framework/ranks/agreement.h"
#include "framework/report/reporter.h"
#include "hook/request_queue.h"

namespace millrace {

struct RequestServerOptions {
  bool report_at_end = true;  // TrainerOptions::report.at_end
  bool save_best = true;      // TrainerOptions::save_best
};

// Serves requests in the order evaluate, checkpoint, reload, stop, and decides when the run ends.
// Also saves a checkpoint after evaluations with a new best score. Every function that returns a
// status is collective. Used on the trainer's thread.
class RequestServer {
 public:
  // Parts of the loop. All are borrowed and outlive this object. Only this object sets
  // `loop.stop`.
  struct Parts {
    RequestQueue& requests;
    Evaluations& evaluations;
    CheckpointKeeper& checkpoints;
    HookList& hooks;
    LoopContext& context;
    Agreement& agreement;
    const Reporter& reporter;
    LoopState& loop;
    LoopRecorder& recorder;
  };

  RequestServer(const Parts& parts, RequestServerOptions options)
      : parts_(parts), options_(options) {}

  // Begins a run, without a stop.
  void begin_run();

  // Serves common requests. `marks`: if true, cadences count from here even if nothing was served.
  // Returns true if there was a request.
  absl::StatusOr<bool> serve_common(bool marks = true);
  // Serves the requests of single ranks in the exchange verified last. `ending`: true if no step
  // follows. Returns true if there was a request.
  absl::StatusOr<bool> serve_agreed(bool ending = false);
  // Serves the requests for evaluations at the end of the run.
  absl::Status serve_at_end();

  // Evaluates `data` and serves requests that single ranks made during the evaluation. `scope`: of
  // the request that the evaluation serves, if any. Returns none if a rank asked to stop; the run
  // is then stopped. Errors: as Evaluations::run().
  absl::StatusOr<std::optional<EvaluationResult>> evaluate(Dataset& data, EvaluationOptions options,
                                                           Scope scope = Scope::kCommon);
  // Records the result of an evaluation within training for checkpoints and the best score, and
  // reports it to hooks.
  absl::Status report_evaluation(const EvaluationResult& result);

  bool stopped() const { return parts_.loop.stop.stopped; }
  // Returns true if no further step follows, after a stop or at a limit, although the data has
  // more. If the data has ended or the epoch is full, the epoch or window is completed first.
  bool training_is_over() const;

 private:
  absl::Status serve(const RequestSet& requests, Scope scope);
  absl::Status serve_each(const RequestSet& requests, Scope scope);
  absl::Status defer_stopped(const RequestSet& requests, const RequestSet& left, Scope scope);
  void stop(const RequestSet& requests, Scope scope);
  bool ends_here() const;
  bool stopped_by_rank(Scope scope) const;
  bool saves_best(const RequestSet& requests) const;
  absl::Status save(const RequestSet& requests, Scope scope, absl::string_view detail = "");
  bool precedes_end(const RequestSet& requests, bool at_end) const;
  absl::StatusOr<RequestSet> evaluate_sets(const RequestSet& requests, Scope scope, bool at_end);

  const Parts parts_;
  const RequestServerOptions options_;
  // True if a rank requested a checkpoint within an evaluation that a stop ended.
  bool checkpoint_interrupted_ = false;
  // Step of a best score of this run without a checkpoint yet; -1: none.
  int64_t unsaved_best_ = -1;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_REQUEST_SERVER_H_
