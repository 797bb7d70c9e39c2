// The parts of a trainer without its loop, for tests of each part.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "distributed/one_rank_collectives.h"
#include "framework/loop/request_server.h"
#include "framework/loop/step_runner.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {

// Keeps events as "kind what detail", without empty words. Kinds: requested, served, refused,
// failed, started, ended.
class EventTexts : public EventLog {
 public:
  void record(const LoopEvent& event) override {
    static constexpr const char* kKinds[] = {"started",   "requested", "served", "refused",
                                             "tolerated", "failed",    "ended"};
    std::string text = absl::StrCat(kKinds[event.kind], " ", event.what);
    if (!event.detail.empty()) absl::StrAppend(&text, " ", event.detail);
    texts.push_back(text);
  }
  std::vector<std::string> texts;
};

// A model with one evaluation set, "eval", a saver, and the other parts of a Trainer on one rank.
// Nothing trains: a test changes `position` directly.
struct LoopParts {
  // `save`: see FakeSaver. `hook`: gets every event by name.
  explicit LoopParts(FakeSaver::Save save, RequestServerOptions server_options = {},
                     CheckpointKeeperOptions keeper_options = {},
                     BestScoreOptions best_options = {})
      : parts(tiny_parts()),
        model_parts(*parts.model),
        training(Clock::real()),
        recorder(&events, position, 0, 1),
        feed({}, parts.train_data.get(), position, collectives, Clock::real()),
        reporter(*MetricSet::create({}, {"label"}, LossScope::kWholeStep),
                 *SpanMetrics::create({}, {}, {"label"}, {}), parts.dense_optimizers, nullptr, {},
                 training),
        context({0, 1, false}, position, requests, {reporter.values(), reporter.distributions()}),
        agreement(collectives, requests, {"eval"}),
        train_step(create_standard_train_step()),
        steps({*parts.model, model_parts, parts.dense_optimizers, nullptr, *train_step, agreement,
               hooks, context, position},
              /*seed=*/1, PrecisionConfig()),
        saver(std::move(save)),
        evaluations({*parts.model, parts.evaluation_sets, hooks, context, agreement, feed, training,
                     position, stop, recorder, Clock::real()},
                    {}, {.tasks = {"label"}, .metrics = {"logloss"}}),
        best(std::move(best_options)),
        state({*parts.model, model_parts, parts.dense_optimizers, parts.train_data.get(), hooks,
               reporter, requests, evaluations, best, position, 0, 1}),
        checkpoints({&saver, nullptr, state, evaluations, hooks, context, agreement, consistency,
                     position, stop, recorder},
                    keeper_options),
        server({requests, evaluations, best, checkpoints, hooks, context, agreement, consistency,
                reporter, position, stop, recorder},
               server_options) {
    begin_run();
  }

  void begin_run() {
    requests.begin_run();
    server.begin_run();
    evaluations.begin_run();
    checkpoints.begin_run();
    context.begin_run(Phase::kTrain);
    consistency.begin_run();
    agreement.begin_run();
    events.texts.clear();
  }
  // Advances the position by one step, without training.
  void make_step() {
    MILLRACE_CHECK(checkpoints.open().ok());
    checkpoints.begin_step();
    ++position.progress.step;
  }
  // Adds a hook that gets every event by name, and starts all hooks.
  void add_hook(std::function<absl::Status(HookContext&, absl::string_view)> on_event) {
    MILLRACE_CHECK(
        hooks.add(std::make_unique<RecordingHook>(&hook_events, std::move(on_event))).ok());
    MILLRACE_CHECK(hooks.start(context).ok());
    hook_events.clear();
  }

  TrainerParts parts;
  OneRankCollectives collectives;
  ModelParts model_parts;
  TrainingClock training;
  LoopPosition position;
  Consistency consistency;
  StopState stop;
  RequestQueue requests;
  EventTexts events;
  LoopRecorder recorder;
  std::vector<std::string> hook_events;
  HookList hooks;
  BatchFeed feed;
  Reporter reporter;
  LoopContext context;
  Agreement agreement;
  std::unique_ptr<TrainStep> train_step;
  StepRunner steps;
  FakeSaver saver;
  Evaluations evaluations;
  BestScore best;
  TrainerState state;
  CheckpointKeeper checkpoints;
  RequestServer server;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_
