#include "tests/ranks/table_cases.h"

#include <ATen/ATen.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

class TableCases {
 public:
  std::vector<RankCase> make() {
    tables();
    return std::move(cases_);
  }

 private:
  // With a table over ranks.
  void table(absl::string_view name, const std::function<void(RankSetup&, bool)>& prepare,
             const ExpectedOutcome& guilty, const ExpectedOutcome& others) {
    const auto with_table = [=](RankSetup& setup, bool is_guilty) {
      setup.options.train.sparse = 2;
      prepare(setup, is_guilty);
    };
    cases_.push_back({"tables", std::string(name), with_table, guilty, others});
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
            setup.options.train.batch_size = kRankBatch / 5;
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

  std::vector<RankCase> cases_;
};

}  // namespace

std::vector<RankCase> table_cases() { return TableCases().make(); }

}  // namespace millrace
