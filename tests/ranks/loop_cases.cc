#include "tests/ranks/loop_cases.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

class LoopCases {
 public:
  std::vector<RankCase> make() {
    requests();
    divergence();
    data();
    failing_hooks();
    models();
    windows();
    crossed();
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

  // Adds a case with a common request of a single rank.
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
          setup.options.train.batches = (examples + kRankBatch - 1) / kRankBatch;
          setup.options.train.last_batch = examples % kRankBatch;
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
    const std::string damaged = "reading data after step 3: fake data is damaged";
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

  // Adds a case in which a hook of a rank fails at an event; all ranks evaluate after step 3.
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

  // Makes the loss of the third forward pass not a number, only on the guilty rank.
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
                               "of it was applied); look at the data, or lower the learning rate "
                               "and start again with --accept_changes; if that fails too, remove "
                               "the newest checkpoint, whose weights may be too large already; "
                               "train.non_finite.policy: SKIP, also with --accept_changes, leaves "
                               "out single steps"),
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
          if (guilty) setup.on_event = once("start", 0, stop_later);
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

  // Adds a case in which a rank fails between an exchange with requests of other ranks and the
  // place where these requests are served.
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

}  // namespace

std::vector<RankCase> loop_cases() { return LoopCases().make(); }

}  // namespace millrace
