// The parts of a trainer without its loop, for tests of each part.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "distributed/one_rank_collectives.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/best_score.h"
#include "framework/loop/checkpoint_keeper.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/loop_state.h"
#include "framework/loop/request_server.h"
#include "framework/loop/step_runner.h"
#include "framework/loop/train_step.h"
#include "framework/loop/trained_model.h"
#include "framework/loop/trainer_state.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/commit_exchange.h"
#include "framework/report/event_log.h"
#include "framework/report/metric_set.h"
#include "framework/report/reporter.h"
#include "framework/report/resource_use.h"
#include "framework/report/span_metrics.h"
#include "hook/request_queue.h"
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
        model{std::move(parts.model), std::move(parts.dense_optimizers),
              std::move(parts.sparse_optimizer), std::move(parts.moving_average),
              std::move(parts.clipping)},
        training(Clock::real()),
        recorder(&events, loop, 0, 1),
        feed({}, parts.train_data.get(), loop, collectives, Clock::real()),
        reporter(*MetricSet::create({}, {"label"}, LossScope::kWholeStep),
                 *SpanMetrics::create({}, {}, {"label"}, {}), model.dense_optimizers, nullptr, {},
                 training),
        context({0, 1, false}, position, requests, {reporter.values(), reporter.distributions()}),
        agreement(collectives, requests, {"eval"}),
        commit(agreement, model.model_parts.parameters),
        steps({model, commit, hooks, context}, create_standard_train_step(), /*seed=*/1,
              PrecisionConfig()),
        eval_data(*parts.evaluation_sets[0].data),
        evaluations({model, hooks, context, agreement, feed, training},
                    std::move(parts.evaluation_sets), {},
                    {.tasks = {"label"}, .metrics = {"logloss"}}, std::move(best_options)),
        state({model, parts.train_data.get(), hooks, reporter, requests, evaluations, position, 0,
               1}),
        saver(new FakeSaver(std::move(save))),
        checkpoints({state, evaluations, hooks, context, agreement, loop, recorder},
                    std::unique_ptr<StateSaver>(saver), nullptr, keeper_options),
        server({requests, evaluations, checkpoints, hooks, context, agreement, reporter, loop,
                recorder},
               server_options) {
    loop.limits = keeper_options.limits;
    begin_run();
  }

  void begin_run() {
    requests.begin_run();
    server.begin_run();
    evaluations.begin_run();
    checkpoints.begin_run();
    context.begin_run(Phase::kTrain);
    loop.consistency.begin_run();
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

  TrainerParts parts;  // except those that a part below owns
  OneRankCollectives collectives;
  TrainedModel model;
  TrainingClock training;
  LoopState loop;
  LoopPosition& position = loop.position;
  RequestQueue requests;
  EventTexts events;
  LoopRecorder recorder;
  std::vector<std::string> hook_events;
  HookList hooks;
  BatchFeed feed;
  Reporter reporter;
  LoopContext context;
  Agreement agreement;
  CommitExchange commit;
  StepRunner steps;
  Dataset& eval_data;  // of the evaluation set
  Evaluations evaluations;
  TrainerState state;
  FakeSaver* const saver;  // owned by `checkpoints`
  CheckpointKeeper checkpoints;
  RequestServer server;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_PARTS_TESTING_H_
