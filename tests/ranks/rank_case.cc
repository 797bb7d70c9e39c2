#include "tests/ranks/rank_case.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "hooks/non_finite_guard_hook.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/ranks/damaging_collectives.h"

namespace millrace {
namespace {

// Records the steps of evaluations.
std::function<absl::Status(HookContext&, absl::string_view)> watch(
    const RankSetup& setup, std::vector<int64_t>* evaluated) {
  return [on_event = setup.on_event, evaluated](HookContext& context,
                                                absl::string_view event) mutable {
    if (event == "after_evaluate") evaluated->push_back(context.progress().step);
    return on_event ? on_event(context, event) : absl::OkStatus();
  };
}

// Damages messages of other ranks behind the header of TableExchange, so that their reader fails.
void make_unreadable(absl::Span<ByteBuffer> received) {
  constexpr size_t kPart = 8;  // begin of the part of the first collection
  for (ByteBuffer& frame : received) {
    if (frame.size() > kPart) frame.data()[kPart] = 0x55;
  }
}

std::string describe(const Summary& summary, const absl::Status& status,
                     const std::vector<int64_t>& evaluated) {
  std::string text;
  if (!status.ok()) {
    text = status.ToString(absl::StatusToStringMode::kWithNoExtraData);
  } else if (summary.outcome == Outcome::kStopped) {
    text = absl::StrCat("stopped (", summary.stop_reason, ")");
  } else {
    text = "completed";
  }
  const Progress& progress = summary.progress;
  absl::StrAppend(&text, " at step ", progress.step, ", ", progress.examples, " examples");
  if (progress.skipped_steps > 0) absl::StrAppend(&text, ", ", progress.skipped_steps, " skipped");
  if (summary.dropped_examples > 0) {
    absl::StrAppend(&text, ", ", summary.dropped_examples, " dropped");
  }
  if (progress.window > 0) absl::StrAppend(&text, ", ", progress.window, " windows");
  if (!evaluated.empty()) {
    absl::StrAppend(&text, ", evaluated at step ", absl::StrJoin(evaluated, " and "));
  }
  return text;
}

}  // namespace

std::string run_rank_case(const RankCase& rank_case, int guilty,
                          std::unique_ptr<Collectives> collectives) {
  FakeClock clock;
  RankSetup setup;
  setup.options.clock = &clock;
  setup.options.train.batches = 8;
  setup.options.train.batch_size = kRankBatch;
  setup.options.trainer.report = {.every_steps = 2, .at_end = true};
  rank_case.prepare(setup, collectives->rank() == guilty);
  setup.options.trainer.max_windows = setup.max_windows;
  TrainerParts parts = tiny_parts(setup.options);
  auto& model = static_cast<TinyModel&>(*parts.model);
  model.on_output = setup.on_output;
  model.on_lookups = setup.on_lookups;
  model.on_pooled_gradient = setup.on_pooled_gradient;
  if (!setup.windows.empty()) {
    parts.train_data = std::make_unique<FakeWindowedDataset>(setup.options.train, setup.windows);
  }
  if (setup.unreadable_exchange >= 0) {
    collectives = std::make_unique<DamagingCollectives>(
        std::move(collectives), setup.unreadable_exchange, /*sent=*/nullptr, make_unreadable);
  }
  parts.collectives = std::move(collectives);
  if (setup.on_save) {
    parts.saver = std::make_unique<FakeSaver>(
        [&](const TrainState&, const auto&) -> absl::StatusOr<CheckpointInfo> {
          RETURN_IF_ERROR(setup.on_save());
          return CheckpointInfo();
        });
  }
  auto trainer = Trainer::create(setup.options.trainer, std::move(parts));
  if (!trainer.ok()) return trainer.status().ToString(absl::StatusToStringMode::kWithNoExtraData);
  std::vector<std::string> events;
  std::vector<int64_t> evaluated;
  absl::Status status = (*trainer)->add_hook(
      std::make_unique<RecordingHook>(&events, watch(setup, &evaluated), "planted"));
  NonFiniteConfig non_finite;
  if (setup.skip_non_finite) non_finite.set_policy(NonFiniteConfig::SKIP);
  status.Update((*trainer)->add_hook(std::make_unique<NonFiniteGuardHook>(non_finite)));
  MILLRACE_CHECK(status.ok()) << status;
  status = (*trainer)->train().status();
  return describe((*trainer)->summary(), status, evaluated);
}

ExpectedOutcome even(absl::string_view outcome, int64_t step, absl::string_view more) {
  return [=, outcome = std::string(outcome), more = std::string(more)](int world_size, int) {
    return absl::StrCat(outcome, " at step ", step, ", ", step * kRankBatch * world_size,
                        " examples", more);
  };
}

ExpectedOutcome uneven(int64_t step, int64_t guilty, int64_t others, int64_t dropped) {
  return [=](int world_size, int) {
    const int64_t rest = world_size - 1;
    return absl::StrCat("completed at step ", step, ", ", guilty + others * rest, " examples",
                        dropped > 0 ? absl::StrCat(", ", dropped * rest, " dropped") : "");
  };
}

ExpectedOutcome told(absl::string_view error, int64_t step, absl::string_view doing,
                     absl::string_view more) {
  return [=, error = std::string(error), doing = std::string(doing), more = std::string(more)](
             int world_size, int guilty) {
    return even(absl::StrCat("ABORTED: ", doing, "rank ", guilty, " failed: ", error), step, more)(
        world_size, guilty);
  };
}

OnEvent once(absl::string_view word, int64_t step,
             std::function<absl::Status(HookContext&)> action) {
  return [=, word = std::string(word), done = false](HookContext& context,
                                                     absl::string_view event) mutable {
    if (done || event != word || context.progress().step < step) return absl::OkStatus();
    done = true;
    return action(context);
  };
}

absl::Status evaluate(HookContext& context) {
  context.requests().evaluate();
  return absl::OkStatus();
}

absl::Status stop_later(HookContext& context) {
  context.requests().before_exchange([&context, looks = 0]() mutable {
    if (++looks == 20) context.requests().stop("signal", Scope::kThisRank);
  });
  return absl::OkStatus();
}

}  // namespace millrace
