#include "tests/ranks/table_cases.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr char kEvaluating[] = "evaluating \"eval\": ";

// The moment of a rank's failure in training.
struct Moment {
  int64_t micro_batches;
  int64_t step;  // the failing step
  int64_t call;  // number of the failing batch, from 1
  const char* in_batch;
  const char* in_step;
};
// A step of one micro-batch, and a step of five micro-batches of two examples.
constexpr Moment kMoments[] = {
    {1, 3, 3, "at step 3", "at step 3"},
    {5, 2, 8, "in the third of five micro-batches of step 2", "at step 2, of five micro-batches"}};

// The exchanges of a training step, in their order.
constexpr int64_t kExchanges = 3;
enum Exchange : int64_t { kIds, kRows, kSums };

// Replaces "$SENDER" by the rank whose message the guilty rank cannot read.
ExpectedOutcome with_sender(const ExpectedOutcome& outcome) {
  return [=](int world_size, int guilty) {
    return absl::StrReplaceAll(outcome(world_size, guilty), {{"$SENDER", guilty == 0 ? "1" : "0"}});
  };
}

std::string unreadable(absl::string_view what) {
  return absl::StrCat("a message of rank $SENDER: ", what,
                      " of rank $SENDER: the frame holds something else there");
}

class TableCases {
 public:
  std::vector<RankCase> make() {
    whole_runs();
    for (const Moment& moment : kMoments) {
      lookups(moment);
      passes(moment);
      owners(moment);
    }
    not_announced();
    evaluations();
    between_steps();
    gradients_and_limits();
    evictions();
    windows();
    return std::move(cases_);
  }

 private:
  // Adds a case with a table over ranks.
  void table(absl::string_view name, const std::function<void(RankSetup&, bool)>& prepare,
             const ExpectedOutcome& guilty, const ExpectedOutcome& others) {
    const auto with_table = [=](RankSetup& setup, bool is_guilty) {
      setup.options.train.sparse = 2;
      prepare(setup, is_guilty);
    };
    cases_.push_back(
        {"tables", std::string(name), with_table, with_sender(guilty), with_sender(others)});
  }
  void table(absl::string_view name, const std::function<void(RankSetup&, bool)>& prepare,
             const ExpectedOutcome& outcome) {
    table(name, prepare, outcome, outcome);
  }

  // Adds a case with a failure of a rank within a step.
  void step_failure(absl::string_view name, absl::string_view code, absl::string_view message,
                    const Moment& moment, const std::function<void(RankSetup&)>& break_it) {
    const std::string doing = absl::StrCat("step ", moment.step, ": ");
    table(
        name,
        [=](RankSetup& setup, bool guilty) {
          setup.options.trainer.micro_batches = moment.micro_batches;
          setup.options.train.batch_size = kRankBatch / moment.micro_batches;
          if (guilty) break_it(setup);
        },
        even(absl::StrCat(code, ": ", doing, message), moment.step - 1),
        told(message, moment.step - 1, doing));
  }

  // Adds a case with a failure of a rank in the evaluation that all ranks make after step 3.
  // `reported`: the begin of this rank's message on the other ranks.
  void evaluation_failure(absl::string_view name, absl::string_view code, absl::string_view message,
                          absl::string_view reported,
                          const std::function<void(RankSetup&)>& break_it) {
    table(
        name,
        [=](RankSetup& setup, bool guilty) {
          setup.on_event = once("after_step", 3, evaluate);
          if (guilty) break_it(setup);
        },
        even(absl::StrCat(code, ": ", kEvaluating, message), 3),
        told(absl::StrCat(reported, message), 3, kEvaluating));
  }

  // Adds a case with an error of a hook while other ranks may be in an exchange of tables. All
  // ranks evaluate after step 3.
  void hook_failure(absl::string_view word, int64_t step, int64_t ends_at, absl::string_view doing,
                    absl::string_view others_doing, absl::string_view reported = "") {
    const std::string event(word.substr(0, word.find('(')));
    const std::string message =
        absl::StrCat("hook planted in ", absl::StripPrefix(event, "eval:"), ": planted");
    const char* evaluated = ends_at > 3 ? ", evaluated at step 3" : "";
    table(
        absl::StrCat("an error in ", word, " at step ", step),
        [=, word = std::string(word)](RankSetup& setup, bool guilty) {
          auto evaluates = once("after_step", 3, evaluate);
          auto fails = once(word, step, fail);
          setup.on_event = [=](HookContext& context, absl::string_view event) mutable {
            if (event == "after_step") evaluates(context, event).IgnoreError();
            return guilty ? fails(context, event) : absl::OkStatus();
          };
        },
        even(absl::StrCat("DATA_LOSS: ", doing, message), ends_at, evaluated),
        told(absl::StrCat(reported, message), ends_at, others_doing, evaluated));
  }

  static absl::Status fail(HookContext&) { return absl::DataLossError("planted"); }

  using SpoilLookups = std::function<absl::Status(std::vector<TableLookup>&)>;
  // Changes the lookups of the batch of this number, from 1.
  static std::function<void(RankSetup&)> spoil_lookups(int64_t call, const SpoilLookups& spoil) {
    return [=](RankSetup& setup) {
      setup.on_lookups = [=, calls = int64_t{0}](std::vector<TableLookup>& lookups) mutable {
        return ++calls == call ? spoil(lookups) : absl::OkStatus();
      };
    };
  }
  static absl::Status fail_lookups(std::vector<TableLookup>&) {
    return absl::DataLossError("planted");
  }
  static absl::Status announce_nothing(std::vector<TableLookup>& lookups) {
    lookups.clear();
    return absl::OkStatus();
  }

  void whole_runs() {
    table(
        "nothing happens", [](RankSetup&, bool) {}, even("completed", 8));
    table(
        "1000 on the others, 7 examples on one rank, UNTIL_LAST",
        [](RankSetup& setup, bool guilty) {
          setup.options.train.batches = guilty ? 1 : 100;
          if (guilty) setup.options.train.batch_size = 7;
        },
        uneven(100, 7, 1000));
  }

  // Failures in building requests. The exchange of ids reports them.
  void lookups(const Moment& moment) {
    const auto add = [&](absl::string_view what, absl::string_view code, absl::string_view message,
                         const SpoilLookups& spoil) {
      step_failure(absl::StrCat("the lookups of the model ", what, " ", moment.in_batch), code,
                   message, moment, spoil_lookups(moment.call, spoil));
    };
    add("fail", "DATA_LOSS", "planted", fail_lookups);
    add("throw", "INTERNAL", "the lookups of the model: planted",
        [](std::vector<TableLookup>&) -> absl::Status { throw std::runtime_error("planted"); });
    add("name no collection", "INVALID_ARGUMENT",
        "Model::lookups gave a collection that is none of the model's submodules",
        [](std::vector<TableLookup>& lookups) {
          lookups[0].collection = nullptr;
          return absl::OkStatus();
        });
    add("have ids of another type", "INVALID_ARGUMENT",
        "looking up embeddings: ids of features s0, s1 of table items must be an int64 vector on "
        "the CPU, not Float [4]",
        [](std::vector<TableLookup>& lookups) {
          lookups[0].features.values = lookups[0].features.values.to(at::kFloat).slice(0, 0, 4);
          return absl::OkStatus();
        });
  }

  // Failures in forward and backward passes. The exchange of sums reports them.
  void passes(const Moment& moment) {
    const int64_t call = moment.call;
    step_failure(absl::StrCat("the forward pass fails ", moment.in_batch), "DATA_LOSS", "planted",
                 moment, [=](RankSetup& setup) {
                   setup.options.on_forward = [=, calls = int64_t{0}](const Batch&) mutable {
                     return ++calls == call ? absl::DataLossError("planted") : absl::OkStatus();
                   };
                 });
    step_failure(absl::StrCat("the backward pass throws ", moment.in_batch), "INTERNAL",
                 "the backward pass: planted", moment, [=](RankSetup& setup) {
                   setup.on_output = [=, calls = int64_t{0}](ModelOutput& output) mutable {
                     if (++calls != call) return;
                     output.loss.register_hook(
                         [](at::Tensor) -> at::Tensor { throw std::runtime_error("planted"); });
                   };
                 });
  }

  // Failures in reading messages. The exchange of rows, the exchange of sums and the decision
  // report them.
  void owners(const Moment& moment) {
    const auto add = [&](absl::string_view name, absl::string_view what, Exchange exchange) {
      step_failure(absl::StrCat(name, " ", moment.in_step), "DATA_LOSS", unreadable(what), moment,
                   [=](RankSetup& setup) {
                     setup.unreadable_exchange = kExchanges * (moment.step - 1) + exchange;
                   });
    };
    add("an owner fails while it reads rows", "ids", kIds);
    add("a rank fails while it reads the rows that it asked for", "rows", kRows);
    add("an owner fails while it adds up sums", "gradients", kSums);
  }

  void not_announced() {
    const std::string message =
        "looking up embeddings: feature s0: id 27 was not announced for this step; "
        "Model::lookups() must return every id that the model looks up";
    step_failure("the forward pass looks up ids that the model did not announce at step 3",
                 "INVALID_ARGUMENT", message, kMoments[0], spoil_lookups(3, announce_nothing));
  }

  // The fourth call of a rank's Model::lookups is for the first evaluated batch; nine exchanges
  // precede it.
  void evaluations() {
    evaluation_failure("the lookups of the model fail in an evaluation after step 3", "DATA_LOSS",
                       "planted", "", spoil_lookups(4, fail_lookups));
    evaluation_failure("an evaluation after step 3 looks up ids that the model did not announce",
                       "INVALID_ARGUMENT",
                       "looking up embeddings: feature s0: id 36 was not announced for this step; "
                       "Model::lookups() must return every id that the model looks up",
                       kEvaluating, spoil_lookups(4, announce_nothing));
    evaluation_failure("a batch of one rank's evaluation after step 3 is damaged", "DATA_LOSS",
                       "fake data is damaged", kEvaluating, [](RankSetup& setup) {
                         setup.options.eval.batches = 4;
                         setup.options.eval.fail_at = 2;
                       });
    evaluation_failure("an owner fails while it reads rows in an evaluation after step 3",
                       "DATA_LOSS", unreadable("ids"), "",
                       [](RankSetup& setup) { setup.unreadable_exchange = 3 * kExchanges + kIds; });
    evaluation_failure(
        "a rank fails while it reads the rows that it asked for in an evaluation after step 3",
        "DATA_LOSS", unreadable("rows"), kEvaluating,
        [](RankSetup& setup) { setup.unreadable_exchange = 3 * kExchanges + kRows; });
  }

  // Failures of hooks, data and checkpoints. The exchange before the next step, or the exchange of
  // ids, reports them.
  void between_steps() {
    hook_failure("before_step", 2, 2, "step 3: ", "step 3: ");
    hook_failure("after_data(0)", 2, 2, "step 3: ", "step 3: ");
    hook_failure("after_backward", 2, 3, "", kEvaluating);
    hook_failure("after_backward", 4, 5, "", "");
    hook_failure("after_step", 2, 2, "", "");
    hook_failure("after_report", 2, 2, "", "");
    hook_failure("eval:before_step", 3, 3, kEvaluating, kEvaluating);
    hook_failure("eval:after_step", 3, 3, kEvaluating, kEvaluating, kEvaluating);
    const std::string damaged = "reading data after step 3: fake data is damaged";
    table(
        "the fifth batch of one rank is damaged",
        [](RankSetup& setup, bool guilty) {
          if (guilty) setup.options.train.fail_at = 4;
        },
        even(absl::StrCat("DATA_LOSS: ", damaged), 3), told(damaged, 3));
    const std::string unsaved = "making a checkpoint: planted";
    table(
        "one rank cannot save the checkpoint after step 3",
        [](RankSetup& setup, bool guilty) {
          setup.on_save = [=] {
            return guilty ? absl::DataLossError("planted") : absl::OkStatus();
          };
          setup.on_event = once("after_step", 3, [](HookContext& context) {
            context.requests().checkpoint();
            return absl::OkStatus();
          });
        },
        even(absl::StrCat("DATA_LOSS: ", unsaved), 3), told(unsaved, 3));
  }

  void gradients_and_limits() {
    const auto spoil_gradient = [](RankSetup& setup, bool guilty) {
      setup.skip_non_finite = true;
      if (!guilty) return;
      // The graph contains a copy of the function.
      auto calls = std::make_shared<int>(0);
      setup.on_pooled_gradient = [calls](at::Tensor gradient) {
        return ++*calls == 3 ? gradient * std::numeric_limits<double>::infinity() : gradient;
      };
    };
    table("the gradient of the table is not finite at step 3, non_finite SKIP", spoil_gradient,
          even("completed", 7, ", 1 skipped"));
    table(
        "the table has a limit of 70 rows with on_full FAIL",
        [](RankSetup& setup, bool) { limit_to_70_rows(LimitConfig::FAIL, setup); },
        even("RESOURCE_EXHAUSTED: step 4: table items has 60 rows and needs 20 more, but its limit "
             "is 70 rows (limit.max_rows or max_bytes, with on_full: FAIL)",
             3));
  }

  static void limit_to_70_rows(LimitConfig::OnFull on_full, RankSetup& setup) {
    setup.options.train.ids = 1 << 20;
    setup.options.table.mutable_limit()->set_max_rows(70);
    setup.options.table.mutable_limit()->set_on_full(on_full);
  }

  // Failures between the decision about step 4, which all ranks apply, and the sums that choose
  // rows to evict.
  void evictions() {
    const std::string message = "hook planted in after_backward: planted";
    for (const Moment& moment : kMoments) {
      const int64_t steps = moment.micro_batches == 1 ? 8 : 5;
      const auto prepare = [=](RankSetup& setup, bool fails) {
        limit_to_70_rows(LimitConfig::EVICT_LRU, setup);
        setup.options.trainer.micro_batches = moment.micro_batches;
        setup.options.train.batch_size = kRankBatch / moment.micro_batches;
        setup.options.train.batches = steps * moment.micro_batches;
        if (fails) setup.on_event = once("after_backward", 3, fail);
      };
      const std::string steps_of =
          moment.micro_batches == 1 ? "" : absl::StrCat(", steps of five micro-batches");
      table(
          absl::StrCat("the table has a limit of 70 rows with on_full EVICT_LRU", steps_of),
          [=](RankSetup& setup, bool) { prepare(setup, false); }, even("completed", steps));
      table(absl::StrCat("an error in after_backward of step 4, which evicts rows", steps_of),
            prepare, even(absl::StrCat("DATA_LOSS: ", message), 4), told(message, 4));
    }
  }

  void windows() {
    table(
        "three windows, one of them empty, two of them late",
        [](RankSetup& setup, bool) {
          setup.windows = {{2, 0}, {0, 3}, {4, 1}};
        },
        even("completed", 6, ", 3 windows"));
    for (const char* event : {"before_window", "after_window"}) {
      const std::string message = absl::StrCat("hook planted in ", event, ": planted");
      table(
          absl::StrCat("an error in ", event, " at step 2"),
          [=](RankSetup& setup, bool guilty) {
            setup.windows = {{2, 0}, {4, 0}};
            if (guilty) setup.on_event = once(event, 2, fail);
          },
          even(absl::StrCat("DATA_LOSS: ", message), 2, ", 1 windows"),
          told(message, 2, "", ", 1 windows"));
    }
    table(
        "one rank is asked to stop (a signal) while all wait for a window that never comes",
        [](RankSetup& setup, bool guilty) {
          setup.windows = {{2, 0}, {4, -1}};
          if (guilty) setup.on_event = once("start", 0, stop_later);
        },
        even("stopped (signal)", 2, ", 1 windows"));
  }

  std::vector<RankCase> cases_;
};

}  // namespace

std::vector<RankCase> table_cases() { return TableCases().make(); }

}  // namespace millrace
