#include "tests/ranks/rank_cases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/log.h"
#include "hooks/non_finite_guard_hook.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"

namespace millrace {
namespace {

constexpr int64_t kBatch = 10;

// "completed at step 8, 160 examples" where every rank had a full batch in each step.
ExpectedOutcome even(absl::string_view outcome, int64_t step, absl::string_view more = "") {
  return [=, outcome = std::string(outcome), more = std::string(more)](int world_size, int) {
    return absl::StrCat(outcome, " at step ", step, ", ", step * kBatch * world_size, " examples",
                        more);
  };
}

// The same where the guilty rank had `guilty` examples and each of the others `others`.
ExpectedOutcome uneven(int64_t step, int64_t guilty, int64_t others, int64_t dropped = 0) {
  return [=](int world_size, int) {
    const int64_t rest = world_size - 1;
    return absl::StrCat("completed at step ", step, ", ", guilty + others * rest, " examples",
                        dropped > 0 ? absl::StrCat(", ", dropped * rest, " dropped") : "");
  };
}

// What the others say of the guilty one's `error`.
ExpectedOutcome told(absl::string_view error, int64_t step, absl::string_view doing = "",
                     absl::string_view more = "") {
  return [=, error = std::string(error), doing = std::string(doing), more = std::string(more)](
             int world_size, int guilty) {
    return even(absl::StrCat("ABORTED: ", doing, "rank ", guilty, " failed: ", error), step, more)(
        world_size, guilty);
  };
}

// Does something once, at the event `word` when `step` steps are applied.
auto once(absl::string_view word, int64_t step, std::function<absl::Status(HookContext&)> action) {
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

class Cases {
 public:
  std::vector<RankCase> make() {
    requests();
    divergence();
    data();
    failing_hooks();
    models();
    windows();
    crossed();
    tables();
    return std::move(cases_);
  }

 private:
  void add(absl::string_view group, absl::string_view name,
           std::function<void(RankSetup&, bool)> prepare, ExpectedOutcome guilty,
           ExpectedOutcome others) {
    cases_.push_back({std::string(group), std::string(name), std::move(prepare), std::move(guilty),
                      std::move(others)});
  }

  void ask(absl::string_view name, Scope scope, bool everyone,
           const std::function<void(Requests&, Scope)>& request, const ExpectedOutcome& outcome) {
    add(
        "requests",
        absl::StrCat(everyone ? "all ranks ask" : "one rank asks", " after step 3, ",
                     scope == Scope::kCommon ? "common" : "of this rank", ": ", name),
        [=](RankSetup& setup, bool guilty) {
          if (!guilty && !everyone) return;
          setup.on_event = once("after_step", 3, [=](HookContext& context) {
            request(context.requests(), scope);
            return absl::OkStatus();
          });
        },
        outcome, outcome);
  }

  void requests() {
    const auto evaluate = [](Requests& r, Scope scope) { r.evaluate("", scope); };
    const auto checkpoint = [](Requests& r, Scope scope) { r.checkpoint(scope); };
    const auto reload = [](Requests& r, Scope scope) { r.reload(scope); };
    const auto stop = [](Requests& r, Scope scope) { r.stop("planted", scope); };
    const auto refused = [](absl::string_view what, absl::string_view lacks, int64_t step) {
      return even(absl::StrCat("FAILED_PRECONDITION: a hook asked for a ", what,
                               ", but this trainer has no ", lacks),
                  step);
    };
    const auto no_saver = [=](int64_t step) { return refused("checkpoint", "saver", step); };
    const auto no_bank = [=](int64_t step) {
      return refused("reload", "model bank with a dynamic source", step);
    };
    for (const bool everyone : {false, true}) {
      ask("evaluate", Scope::kThisRank, everyone, evaluate,
          even("completed", 8, ", evaluated at step 4"));
      ask("checkpoint", Scope::kThisRank, everyone, checkpoint, no_saver(4));
      ask("reload", Scope::kThisRank, everyone, reload, no_bank(4));
      ask("stop", Scope::kThisRank, everyone, stop, even("stopped (planted)", 4));
    }
    ask("evaluate", Scope::kCommon, true, evaluate, even("completed", 8, ", evaluated at step 3"));
    ask("checkpoint", Scope::kCommon, true, checkpoint, no_saver(3));
    ask("reload", Scope::kCommon, true, reload, no_bank(3));
    ask("stop", Scope::kCommon, true, stop, even("stopped (planted)", 3));
    ask(
        "evaluate a set that is not there", Scope::kThisRank, false,
        [](Requests& r, Scope scope) { r.evaluate("evil", scope); },
        even("NOT_FOUND: no evaluation set is named \"evil\"; did you mean \"eval\"?", 4));
    const auto stop_at = [this](absl::string_view name, absl::string_view word, int64_t step,
                                const ExpectedOutcome& outcome) {
      add(
          "requests", name,
          [=, word = std::string(word)](RankSetup& setup, bool guilty) {
            auto ask = once(word, step, [](HookContext& context) {
              context.requests().stop("planted", Scope::kThisRank);
              return absl::OkStatus();
            });
            auto evaluates = once("after_step", 3, millrace::evaluate);
            setup.on_event = [=](HookContext& context, absl::string_view event) mutable {
              evaluates(context, event).IgnoreError();
              return guilty ? ask(context, event) : absl::OkStatus();
            };
          },
          outcome, outcome);
    };
    stop_at("one rank stops in start", "start", 0, even("stopped (planted)", 0));
    stop_at("one rank stops before the epoch", "before_epoch", 0, even("stopped (planted)", 0));
    stop_at("one rank stops in an evaluation after step 3", "eval:after_step", 0,
            even("stopped (planted)", 3));
    stop_at("one rank stops after an evaluation after step 3", "after_evaluate", 0,
            even("stopped (planted)", 4, ", evaluated at step 3"));
  }

  // A common request that only one rank makes.
  void diverge(absl::string_view name, absl::string_view served, absl::string_view doing,
               absl::string_view place, const std::function<void(Requests&)>& request) {
    const auto message = [=, served = std::string(served), place = std::string(place)](
                             absl::string_view doing, int world_size, int guilty) {
      std::vector<std::string> others;
      for (int rank = 0; rank < world_size; ++rank) {
        if (rank != guilty) others.push_back(absl::StrCat("rank ", rank));
      }
      std::vector<std::string> stories = {
          absl::StrCat(absl::StrJoin(others, ", "), " served nothing, then came to step 4"),
          absl::StrCat("rank ", guilty, " served ", served, " (hook planted), then came to ",
                       place)};
      if (guilty == 0) std::swap(stories[0], stories[1]);
      return even(
          absl::StrCat("FAILED_PRECONDITION: ", doing,
                       "the ranks diverged: ", absl::StrJoin(stories, "; "),
                       ". A request of scope kCommon must follow from Progress or from values "
                       "merged over ranks; what only one rank knows is asked for with "
                       "Scope::kThisRank"),
          3)(world_size, guilty);
    };
    add(
        "divergence", name,
        [=](RankSetup& setup, bool guilty) {
          if (!guilty) return;
          setup.on_event = once("after_step", 3, [=](HookContext& context) {
            request(context.requests());
            return absl::OkStatus();
          });
        },
        [=, doing = std::string(doing)](int world_size, int guilty) {
          return message(doing, world_size, guilty);
        },
        [=](int world_size, int guilty) { return message("step 4: ", world_size, guilty); });
  }

  void divergence() {
    diverge("one rank alone stops after step 3, common", "stop \"planted\"", "", "finish 0",
            [](Requests& r) { r.stop("planted"); });
    diverge("one rank alone evaluates after step 3, common", "evaluate",
            "evaluating \"eval\": ", "evaluation 0", [](Requests& r) { r.evaluate(); });
  }

  void deal(absl::string_view name, int64_t others, int64_t guilty_examples, bool until_first,
            const ExpectedOutcome& outcome) {
    add(
        "data",
        absl::StrCat(name, " examples on one rank, ", until_first ? "UNTIL_FIRST" : "UNTIL_LAST"),
        [=](RankSetup& setup, bool guilty) {
          const int64_t examples = guilty ? guilty_examples : others;
          setup.options.train.batches = (examples + kBatch - 1) / kBatch;
          setup.options.train.last_batch = examples % kBatch;
          setup.options.trainer.until_first = until_first;
        },
        outcome, outcome);
  }

  void data() {
    deal("1000 on the others, 7", 1000, 7, false, uneven(100, 7, 1000));
    deal("1000 on the others, 7", 1000, 7, true, uneven(1, 7, 10, 990));
    deal("1000 on the others, 0", 1000, 0, false, uneven(100, 0, 1000));
    deal("1000 on the others, 0", 1000, 0, true, uneven(0, 0, 0, 1000));
    deal("1 on the others, 0", 1, 0, false, uneven(1, 0, 1));
    deal("1 on the others, 0", 1, 0, true, uneven(0, 0, 0, 1));
    const std::string damaged = "reading the data of a step after step 3: fake data is damaged";
    add(
        "data", "the fifth batch of one rank is damaged",
        [](RankSetup& setup, bool guilty) {
          if (guilty) setup.options.train.fail_at = 4;
        },
        even(absl::StrCat("DATA_LOSS: ", damaged), 3), told(damaged, 3, "step 4: "));
    const std::string no_data = "evaluating \"eval\": fake data is damaged";
    add(
        "data", "a batch of one rank's evaluation after step 3 is damaged",
        [](RankSetup& setup, bool guilty) {
          setup.on_event = once("after_step", 3, evaluate);
          setup.options.eval.batches = 4;
          if (guilty) setup.options.eval.fail_at = 2;
        },
        even(absl::StrCat("DATA_LOSS: ", no_data), 3),
        told(absl::StrCat("", no_data), 3, "evaluating \"eval\": "));
  }

  // A hook of one rank fails at an event; all ranks evaluate after step 3.
  void fail(absl::string_view word, int64_t at, int64_t ends_at, absl::string_view doing,
            absl::string_view others_doing, absl::string_view more = "",
            absl::string_view others_more = "same") {
    const std::string event(word.substr(0, word.find('(')));
    const std::string name = absl::StartsWith(event, "eval:") ? event.substr(5) : event;
    const std::string message = absl::StrCat("hook planted in ", name, ": planted");
    add(
        "failing hook",
        absl::StrCat("an error in ", word, at > 0 ? absl::StrCat(" at step ", at) : ""),
        [=, word = std::string(word)](RankSetup& setup, bool guilty) {
          auto fails = once(word, at, [](HookContext&) { return absl::DataLossError("planted"); });
          auto evaluates = once("after_step", 3, evaluate);
          setup.on_event = [=](HookContext& context, absl::string_view event) mutable {
            if (event == "after_step") evaluates(context, event).IgnoreError();
            return guilty ? fails(context, event) : absl::OkStatus();
          };
        },
        even(absl::StrCat("DATA_LOSS: ", doing, message), ends_at, more),
        told(absl::StartsWith(doing, "step") ? message : absl::StrCat(doing, message), ends_at,
             others_doing, others_more == "same" ? more : others_more));
  }

  void failing_hooks() {
    const std::string evaluated = ", evaluated at step 3";
    fail("start", 0, 0, "", "");
    fail("before_epoch", 0, 0, "", "");
    fail("before_step", 2, 2, "step 3: ", "step 3: ");
    fail("after_data(0)", 2, 2, "step 3: ", "step 3: ");
    fail("after_backward", 2, 3, "", "evaluating \"eval\": ");
    fail("after_step", 2, 2, "", "");
    fail("after_report", 2, 2, "", "step 3: ");
    fail("eval:before_step", 3, 3, "evaluating \"eval\": ", "evaluating \"eval\": ");
    fail("eval:after_data(0)", 3, 3, "evaluating \"eval\": ", "evaluating \"eval\": ");
    fail("eval:after_step", 3, 3, "evaluating \"eval\": ", "evaluating \"eval\": ");
    fail("after_evaluate", 3, 3, "", "step 4: ", evaluated);
    fail("out_of_data(epoch)", 8, 8, "", "", evaluated);
    fail("after_epoch", 8, 8, "", "", evaluated);
    fail("end", 8, 8, "", "", evaluated);
    add(
        "failing hook", "an exception in after_step at step 2",
        [](RankSetup& setup, bool guilty) {
          if (!guilty) return;
          setup.on_event = once("after_step", 2, [](HookContext&) -> absl::Status {
            throw std::runtime_error("planted");
          });
        },
        even("INTERNAL: hook planted in after_step: threw an exception: planted", 2),
        told("hook planted in after_step: threw an exception: planted", 2, ""));
  }

  void model(absl::string_view name, absl::string_view code, absl::string_view message,
             const std::function<void(RankSetup&)>& break_it) {
    add(
        "model", name,
        [=](RankSetup& setup, bool guilty) {
          if (guilty) break_it(setup);
        },
        even(absl::StrCat(code, ": step 3: ", message), 2), told(message, 2, "step 3: "));
  }

  // On the guilty rank alone, a loss that is not a number in the third forward pass.
  static void spoil_loss(RankSetup& setup, bool guilty) {
    if (!guilty) return;
    setup.on_output = [calls = 0](ModelOutput& output) mutable {
      if (++calls == 3) output.loss = output.loss * std::numeric_limits<double>::quiet_NaN();
    };
  }

  void models() {
    model("the forward pass returns an error at step 3", "DATA_LOSS", "planted",
          [](RankSetup& setup) {
            setup.options.on_forward = [calls = 0](const Batch&) mutable {
              return ++calls == 3 ? absl::DataLossError("planted") : absl::OkStatus();
            };
          });
    model("the forward pass throws at step 3", "INTERNAL", "the model's forward pass: planted",
          [](RankSetup& setup) {
            setup.options.on_forward = [calls = 0](const Batch&) mutable {
              if (++calls == 3) throw std::runtime_error("planted");
              return absl::OkStatus();
            };
          });
    model("the backward pass throws at step 3", "INTERNAL", "the backward pass: planted",
          [](RankSetup& setup) {
            setup.on_output = [calls = 0](ModelOutput& output) mutable {
              if (++calls < 3) return;
              output.loss.register_hook(
                  [](at::Tensor) -> at::Tensor { throw std::runtime_error("planted"); });
            };
          });
    const auto refused = [](int world_size, int guilty) {
      return even(absl::StrCat("FAILED_PRECONDITION: hook non_finite_guard in after_step: "
                               "the loss (on rank ",
                               guilty,
                               ") was infinite or not-a-number in the step after step 2 (nothing "
                               "of it was applied); lower the learning rate, look at the data, or "
                               "set train.non_finite.policy to SKIP"),
                  2, ", 1 skipped")(world_size, guilty);
    };
    add("model", "the loss is not a number at step 3, non_finite FAIL", spoil_loss, refused,
        refused);
    const ExpectedOutcome skipped = even("completed", 7, ", 1 skipped");
    add(
        "model", "the loss is not a number at step 3, non_finite SKIP",
        [](RankSetup& setup, bool guilty) {
          setup.skip_non_finite = true;
          spoil_loss(setup, guilty);
        },
        skipped, skipped);
  }

  // With a table over ranks.
  void table(absl::string_view name, const std::function<void(RankSetup&, bool)>& prepare,
             const ExpectedOutcome& guilty, const ExpectedOutcome& others) {
    add(
        "tables", name,
        [=](RankSetup& setup, bool is_guilty) {
          setup.options.train.sparse = 2;
          prepare(setup, is_guilty);
        },
        guilty, others);
  }

  // One rank's failure in a step or an evaluation of a job with tables.
  void table_failure(absl::string_view name, absl::string_view doing, absl::string_view message,
                     int64_t ends_at, const std::function<void(RankSetup&)>& break_it) {
    table(
        name,
        [=](RankSetup& setup, bool guilty) {
          if (guilty) break_it(setup);
        },
        even(absl::StrCat("DATA_LOSS: ", doing, message), ends_at), told(message, ends_at, doing));
  }

  // An error of a hook where an exchange of tables may be under way on other ranks.
  // `reported`: what that rank's message begins with when it reaches the others.
  void table_hook(absl::string_view word, int64_t step, absl::string_view doing,
                  absl::string_view reported = "") {
    const std::string event(word.substr(0, word.find('(')));
    const std::string message =
        absl::StrCat("hook planted in ", absl::StripPrefix(event, "eval:"), ": planted");
    table(
        absl::StrCat("an error in ", word, " at step ", step),
        [=, word = std::string(word)](RankSetup& setup, bool guilty) {
          auto evaluates = once("after_step", 3, evaluate);
          auto fails =
              once(word, step, [](HookContext&) { return absl::DataLossError("planted"); });
          setup.on_event = [=](HookContext& context, absl::string_view event) mutable {
            if (event == "after_step") evaluates(context, event).IgnoreError();
            return guilty ? fails(context, event) : absl::OkStatus();
          };
        },
        even(absl::StrCat("DATA_LOSS: ", doing, message), step),
        told(absl::StrCat(reported, message), step, doing));
  }

  // Fails, or changes something, in the call with this number.
  static auto in_call(int64_t number, std::function<absl::Status()> action) {
    return [=, calls = int64_t{0}]() mutable {
      return ++calls == number ? action() : absl::OkStatus();
    };
  }

  // One rank's failure in the evaluation that all make after step 3.
  void table_evaluation(absl::string_view name, absl::string_view code, absl::string_view doing,
                        absl::string_view message, absl::string_view reported,
                        const std::function<void(RankSetup&)>& break_it) {
    table(
        name,
        [=](RankSetup& setup, bool guilty) {
          setup.on_event = once("after_step", 3, evaluate);
          if (guilty) break_it(setup);
        },
        even(absl::StrCat(code, ": ", doing, message), 3),
        told(absl::StrCat(reported, message), 3, doing));
  }

  // The fourth call of a rank's Model::lookups is that of the first evaluated batch.
  void evaluations_with_tables(absl::string_view evaluating) {
    table_evaluation("the lookups of the model fail in an evaluation after step 3", "DATA_LOSS",
                     evaluating, "planted", "", [](RankSetup& setup) {
                       setup.on_lookups = [calls = 0](std::vector<TableLookup>&) mutable {
                         return ++calls == 4 ? absl::DataLossError("planted") : absl::OkStatus();
                       };
                     });
    table_evaluation("an evaluation after step 3 looks up ids that the model did not announce",
                     "INVALID_ARGUMENT", evaluating,
                     "looking up embeddings: feature s0: id 36 was not announced for this step; "
                     "Model::lookups() must return every id that the model looks up",
                     evaluating, [](RankSetup& setup) {
                       setup.on_lookups = [calls = 0](std::vector<TableLookup>& lookups) mutable {
                         if (++calls == 4) lookups.clear();
                         return absl::OkStatus();
                       };
                     });
    table_evaluation("a batch of one rank's evaluation after step 3 is damaged", "DATA_LOSS",
                     evaluating, "fake data is damaged", evaluating, [](RankSetup& setup) {
                       setup.options.eval.batches = 4;
                       setup.options.eval.fail_at = 2;
                     });
  }

  // Steps of five micro-batches of two examples, the third of which fails in the second step.
  void micro_batches_with_tables() {
    const auto accumulate = [this](absl::string_view name,
                                   const std::function<void(RankSetup&)>& break_it) {
      const std::string message = "planted";
      table(
          absl::StrCat(name, " in the third of five micro-batches of step 2"),
          [=](RankSetup& setup, bool guilty) {
            setup.options.trainer.micro_batches = 5;
            setup.options.train.batch_size = kBatch / 5;
            if (guilty) break_it(setup);
          },
          even(absl::StrCat("DATA_LOSS: step 2: ", message), 1), told(message, 1, "step 2: "));
    };
    const auto planted = [](int64_t call) {
      return in_call(call, [] { return absl::DataLossError("planted"); });
    };
    accumulate("the lookups of the model fail", [=](RankSetup& setup) {
      setup.on_lookups = [fails = planted(8)](std::vector<TableLookup>&) mutable {
        return fails();
      };
    });
    accumulate("the forward pass fails", [=](RankSetup& setup) {
      setup.options.on_forward = [fails = planted(8)](const Batch&) mutable { return fails(); };
    });
  }

  void tables() {
    const auto planted = [] { return absl::DataLossError("planted"); };
    table(
        "nothing happens", [](RankSetup&, bool) {}, even("completed", 8), even("completed", 8));
    table(
        "1000 on the others, 7 examples on one rank, UNTIL_LAST",
        [](RankSetup& setup, bool guilty) {
          setup.options.train.batches = guilty ? 1 : 100;
          if (guilty) setup.options.train.batch_size = 7;
        },
        uneven(100, 7, 1000), uneven(100, 7, 1000));
    table_failure(
        "the lookups of the model fail at step 3", "step 3: ", "planted", 2, [=](RankSetup& setup) {
          setup.on_lookups = [fails = in_call(3, planted)](std::vector<TableLookup>&) mutable {
            return fails();
          };
        });
    table_failure("the forward pass fails at step 3", "step 3: ", "planted", 2,
                  [=](RankSetup& setup) {
                    setup.options.on_forward = [fails = in_call(3, planted)](const Batch&) mutable {
                      return fails();
                    };
                  });
    table(
        "the forward pass looks up ids that the model did not announce at step 3",
        [](RankSetup& setup, bool guilty) {
          if (!guilty) return;
          setup.on_lookups = [calls = 0](std::vector<TableLookup>& lookups) mutable {
            if (++calls == 3) lookups.clear();
            return absl::OkStatus();
          };
        },
        even("INVALID_ARGUMENT: step 3: looking up embeddings: feature s0: id 27 was not announced "
             "for this step; Model::lookups() must return every id that "
             "the model looks up",
             2),
        told("looking up embeddings: feature s0: id 27 was not announced for this step; "
             "Model::lookups() must return every id that "
             "the model looks up",
             2, "step 3: "));
    const absl::string_view evaluating = "evaluating \"eval\": ";
    evaluations_with_tables(evaluating);
    micro_batches_with_tables();
    table_hook("before_step", 2, "step 3: ");
    table_hook("after_data(0)", 2, "step 3: ");
    table_hook("after_step", 2, "");
    table_hook("after_report", 2, "");
    table_hook("eval:before_step", 3, evaluating);
    table_hook("eval:after_step", 3, evaluating, evaluating);
    const auto spoil_gradient = [](RankSetup& setup, bool guilty) {
      setup.skip_non_finite = true;
      if (!guilty) return;
      // The graph has a copy of the function.
      auto calls = std::make_shared<int>(0);
      setup.on_pooled_gradient = [calls](at::Tensor gradient) {
        return ++*calls == 3 ? gradient * std::numeric_limits<double>::infinity() : gradient;
      };
    };
    table("the gradient of the table is not finite at step 3, non_finite SKIP", spoil_gradient,
          even("completed", 7, ", 1 skipped"), even("completed", 7, ", 1 skipped"));
    const auto limit = [](RankSetup& setup, bool) {
      setup.options.train.ids = 1 << 20;
      setup.options.table.mutable_limit()->set_max_rows(70);
      setup.options.table.mutable_limit()->set_on_full(LimitConfig::FAIL);
    };
    const auto full = even(
        "RESOURCE_EXHAUSTED: step 4: table items has 60 rows and needs 20 more, but its limit is "
        "70 "
        "rows (limit.max_rows or max_bytes, with on_full: FAIL)",
        3);
    table("the table has a limit of 70 rows with on_full FAIL", limit, full, full);
  }

  void window(absl::string_view name, const std::function<void(RankSetup&, bool)>& prepare,
              const ExpectedOutcome& outcome) {
    add("windows", name, prepare, outcome, outcome);
  }

  void windows() {
    window(
        "three windows, one of them empty, two of them late",
        [](RankSetup& setup, bool) {
          setup.windows = {{2, 0}, {0, 3}, {4, 1}};
        },
        even("completed", 6, ", 3 windows"));
    window(
        "max_windows: 1",
        [](RankSetup& setup, bool) {
          setup.windows = {{2, 0}, {4, 0}};
          setup.max_windows = 1;
        },
        even("completed", 2, ", 1 windows"));
    window(
        "one rank is asked to stop (a signal) while all wait for a window that never comes",
        [](RankSetup& setup, bool guilty) {
          setup.windows = {{2, 0}, {4, -1}};
          if (!guilty) return;
          setup.on_event = once("start", 0, [](HookContext& context) {
            context.requests().before_exchange([&context, looks = 0]() mutable {
              if (++looks == 20) context.requests().stop("signal", Scope::kThisRank);
            });
            return absl::OkStatus();
          });
        },
        even("stopped (signal)", 2, ", 1 windows"));
    window(
        "max_seconds passes while all wait for a window that never comes",
        [](RankSetup& setup, bool) {
          setup.windows = {{2, 0}, {4, -1}};
          setup.options.trainer.max_elapsed = absl::Seconds(30);
        },
        even("completed", 2, ", 1 windows"));
    for (const auto& [word, at, ends_at, windows, others_doing] :
         std::vector<std::tuple<std::string, int64_t, int64_t, int64_t, std::string>>{
             {"before_window", 2, 2, 1, ""},
             {"out_of_data(window)", 2, 2, 0, ""},
             {"after_window", 2, 2, 1, ""},
             {"out_of_data(stream)", 6, 6, 2, ""}}) {
      const std::string event = word.substr(0, word.find('('));
      const std::string message = absl::StrCat("hook planted in ", event, ": planted");
      const std::string more = windows > 0 ? absl::StrCat(", ", windows, " windows") : "";
      const std::string others_more = absl::StrCat(", ", std::max<int64_t>(windows, 1), " windows");
      add(
          "windows", absl::StrCat("an error in ", word, " at step ", at),
          [word = word, at = at](RankSetup& setup, bool guilty) {
            setup.windows = {{2, 0}, {4, 0}};
            if (!guilty) return;
            setup.on_event =
                once(word, at, [](HookContext&) { return absl::DataLossError("planted"); });
          },
          even(absl::StrCat("DATA_LOSS: ", message), ends_at, more),
          told(message, ends_at, others_doing, others_more));
    }
  }

  // One rank fails between an exchange in which others asked for something and the place where that
  // is served.
  void cross(absl::string_view name, const std::function<void(RankSetup&)>& prepare,
             absl::string_view asks_at, int64_t asked, absl::string_view fails_at, int64_t failed,
             const std::function<void(Requests&)>& request, const ExpectedOutcome& guilty,
             const ExpectedOutcome& others) {
    add(
        "crossed", name,
        [=, asks_at = std::string(asks_at), fails_at = std::string(fails_at)](RankSetup& setup,
                                                                              bool guilty) {
          if (prepare) prepare(setup);
          auto prepared = setup.on_event;
          auto action = guilty ? once(fails_at, failed,
                                      [](HookContext&) { return absl::DataLossError("planted"); })
                               : once(asks_at, asked, [=](HookContext& context) {
                                   request(context.requests());
                                   return absl::OkStatus();
                                 });
          setup.on_event = [=](HookContext& context, absl::string_view event) mutable {
            if (prepared) prepared(context, event).IgnoreError();
            return action(context, event);
          };
        },
        guilty, others);
  }

  void crossed() {
    const auto stop = [](Requests& r) { r.stop("planted", Scope::kThisRank); };
    const auto evaluate = [](Requests& r) { r.evaluate("", Scope::kThisRank); };
    const std::string after_step = "hook planted in after_step: planted";
    cross("others stop after step 3, one rank fails after step 4", nullptr, "after_step", 3,
          "after_step", 4, stop, even(absl::StrCat("DATA_LOSS: ", after_step), 4),
          told(after_step, 4));
    cross("others evaluate after step 3, one rank fails after step 4", nullptr, "after_step", 3,
          "after_step", 4, evaluate, even(absl::StrCat("DATA_LOSS: ", after_step), 4),
          told(after_step, 4));
    cross(
        "others stop after the first batch of an evaluation, one rank fails after the second",
        [](RankSetup& setup) {
          setup.options.eval.batches = 4;
          setup.on_event = once("after_step", 3, millrace::evaluate);
        },
        "eval:after_data(0)", 3, "eval:after_step", 3, stop,
        even(absl::StrCat("DATA_LOSS: evaluating \"eval\": ", after_step), 3),
        told(absl::StrCat("evaluating \"eval\": ", after_step), 3, "evaluating \"eval\": "));
    const std::string after_evaluate = "hook planted in after_evaluate: planted";
    cross(
        "others evaluate while all wait for a window, one rank fails after the evaluation",
        [](RankSetup& setup) {
          setup.windows = {{2, 0}, {4, 5}};
        },
        "after_window", 2, "after_evaluate", 2, evaluate,
        even(absl::StrCat("DATA_LOSS: ", after_evaluate), 2, ", 1 windows, evaluated at step 2"),
        told(after_evaluate, 2, "", ", 1 windows, evaluated at step 2"));
  }

  std::vector<RankCase> cases_;
};

// Writes down where evaluations happened.
std::function<absl::Status(HookContext&, absl::string_view)> watch(
    const RankSetup& setup, std::vector<int64_t>* evaluated) {
  return [on_event = setup.on_event, evaluated](HookContext& context,
                                                absl::string_view event) mutable {
    if (event == "after_evaluate") evaluated->push_back(context.progress().step);
    return on_event ? on_event(context, event) : absl::OkStatus();
  };
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

const std::vector<RankCase>& rank_cases() {
  static const auto* cases = new std::vector<RankCase>(Cases().make());
  return *cases;
}

std::string run_rank_case(const RankCase& rank_case, int guilty,
                          std::unique_ptr<Collectives> collectives) {
  FakeClock clock;
  RankSetup setup;
  setup.options.clock = &clock;
  setup.options.train.batches = 8;
  setup.options.train.batch_size = kBatch;
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
  parts.collectives = std::move(collectives);
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

std::string rank_cases_page() {
  std::string page =
      "# What happens over many ranks\n\n"
      "Each line is a case that `//tests/ranks:thread_ranks_test` runs with 2 and 3 ranks as "
      "threads and "
      "`//tests/ranks:process_ranks_test` with 2 and 3 processes over Gloo. Each rank has 8 "
      "batches of 10 "
      "examples unless the case says otherwise. What happens, happens on the first or on the last "
      "rank; the outcomes here are those of 2 ranks where it is rank 1. All ranks end at the same "
      "step. This page is written by `./bazelw run "
      "//tests/ranks:write_rank_cases`, and a test holds it against the cases.\n";
  std::string group;
  for (const RankCase& rank_case : rank_cases()) {
    if (rank_case.group != group) {
      group = rank_case.group;
      absl::StrAppend(&page, "\n## ", group,
                      "\n\n| case | that rank | the others |\n|---|---|---|\n");
    }
    const std::string guilty = rank_case.guilty(2, 1);
    const std::string others = rank_case.others(2, 1);
    absl::StrAppend(&page, "| ", rank_case.name, " | ", guilty, " | ",
                    others == guilty ? "the same" : others, " |\n");
  }
  return page;
}

}  // namespace millrace
