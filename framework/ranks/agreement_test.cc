#include "framework/ranks/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Rank {
  explicit Rank(std::unique_ptr<Collectives> the_collectives)
      : collectives(std::move(the_collectives)), agreement(*collectives, requests, {"a", "b"}) {}

  std::unique_ptr<Collectives> collectives;
  RequestQueue requests;
  Agreement agreement;
};

void on_ranks(int world_size, const std::function<void(int, Rank&)>& body) {
  run_thread_ranks({.world_size = world_size}, [&](std::unique_ptr<Collectives> collectives) {
    const int number = collectives->rank();
    Rank rank(std::move(collectives));
    body(number, rank);
    return absl::OkStatus();
  });
}

TEST(Agreement, OneRankAgreesWithItself) {
  Rank rank(std::make_unique<OneRankCollectives>());
  rank.requests.set_caller("hook");
  rank.requests.stop("enough", Scope::kThisRank);
  ASSERT_OK(rank.agreement.meet({"step", 1}, {.has_data = true, .examples = 3}));
  EXPECT_EQ(rank.agreement.result().examples, 3);
  ASSERT_OK_AND_ASSIGN(const RequestSet set, rank.agreement.requests());
  EXPECT_EQ(set.first(Request::kStop)->detail, "enough");
  EXPECT_EQ(set.first(Request::kStop)->hook, "hook");
  EXPECT_OK(rank.agreement.settle({"end"}, absl::OkStatus()));
  EXPECT_THAT(rank.agreement.settle({"end"}, absl::DataLossError("x")),
              StatusIs(absl::StatusCode::kDataLoss, "x"));
}

TEST(Agreement, RequestsOfSingleRanksReachAllTheLowestFirst) {
  on_ranks(3, [](int number, Rank& rank) {
    const std::string hook = absl::StrCat("hook", number);
    if (number > 0) {
      rank.requests.set_caller(hook);
      rank.requests.stop(absl::StrCat("reason ", number), Scope::kThisRank);
      rank.requests.evaluate("b", Scope::kThisRank);
    }
    ASSERT_OK(rank.agreement.meet({"step", 1}, {}));
    EXPECT_EQ(rank.agreement.result().requests.stop, 2);
    ASSERT_OK_AND_ASSIGN(const RequestSet set, rank.agreement.requests());
    EXPECT_EQ(set.first(Request::kStop)->detail, "reason 1");
    EXPECT_EQ(set.first(Request::kStop)->hook, "hook1");
    EXPECT_EQ(set.evaluation_sets(), std::set<std::string>{"b"});
    ASSERT_EQ(set.asked.size(), 4u);
    EXPECT_EQ(set.asked[0].rank, 1);
    EXPECT_EQ(set.asked[3].rank, 2);
    // The requests are served once.
    ASSERT_OK(rank.agreement.meet({"step", 2}, {}));
    ASSERT_OK_AND_ASSIGN(const RequestSet again, rank.agreement.requests());
    EXPECT_TRUE(again.empty());
  });
}

TEST(Agreement, RequestsThatNobodyTookAreCarriedOn) {
  on_ranks(2, [](int number, Rank& rank) {
    if (number == 1) rank.requests.checkpoint(Scope::kThisRank);
    ASSERT_OK(rank.agreement.meet({"step", 1}, {}));
    ASSERT_OK(rank.agreement.meet({"report", 1}));
    EXPECT_EQ(rank.agreement.result().requests.checkpoint, 1);
    ASSERT_OK_AND_ASSIGN(const RequestSet set, rank.agreement.requests());
    EXPECT_TRUE(set.has(Request::kCheckpoint));
  });
}

TEST(Agreement, LooksBeforeEachExchange) {
  on_ranks(2, [](int number, Rank& rank) {
    int looks = 0;
    rank.requests.before_exchange([&] {
      if (++looks == 2 && number == 0) rank.requests.stop("signal", Scope::kThisRank);
    });
    ASSERT_OK(rank.agreement.meet({"step", 1}, {}));
    EXPECT_EQ(rank.agreement.result().requests.stop, 0);
    ASSERT_OK(rank.agreement.meet({"step", 2}, {}));
    EXPECT_EQ(rank.agreement.result().requests.stop, 1);
  });
}

TEST(Agreement, AFailureIsHeardWhereverTheOthersAre) {
  on_ranks(3, [](int number, Rank& rank) {
    if (number == 2) {
      EXPECT_THAT(rank.agreement.settle({"end"}, absl::NotFoundError("planted")),
                  StatusIs(absl::StatusCode::kNotFound, "planted"));
    } else {
      EXPECT_THAT(rank.agreement.meet({"step", 17}, {}),
                  StatusIs(absl::StatusCode::kAborted, "rank 2 failed: planted"));
    }
    EXPECT_TRUE(rank.agreement.over());
    EXPECT_EQ(rank.agreement.failed_rank(), 2);
    EXPECT_OK(rank.agreement.settle({"leaving"}, absl::OkStatus())) << "no message any more";
  });
}

TEST(Agreement, OfSeveralFailuresTheLowestRanksIsTold) {
  on_ranks(3, [](int number, Rank& rank) {
    const absl::Status own =
        number == 0 ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("planted ", number));
    const absl::Status outcome = rank.agreement.settle({"end"}, own);
    if (number == 0) {
      EXPECT_THAT(outcome,
                  StatusIs(absl::StatusCode::kAborted, "rank 1, rank 2 failed: planted 1"));
    } else {
      EXPECT_EQ(outcome, own);
    }
  });
}

TEST(Agreement, AFailureWhileAnExchangeIsUnderWay) {
  on_ranks(2, [](int number, Rank& rank) {
    rank.agreement.start({"evaluation", 1}, {});
    if (number == 1) {
      rank.agreement.settle({"end"}, absl::NotFoundError("planted")).IgnoreError();
      return;
    }
    EXPECT_OK(rank.agreement.verify());
    EXPECT_THAT(rank.agreement.meet({"evaluation", 2}, {}), StatusIs(absl::StatusCode::kAborted));
  });
}

TEST(Agreement, AfterAFailureThatLeavesAllWholeTheRanksActTogetherAgain) {
  on_ranks(3, [](int number, Rank& rank) {
    rank.agreement.set_state_is_whole(true);
    EXPECT_FALSE(rank.agreement.reopen()) << "nothing has failed";
    if (number == 2) {
      rank.agreement.settle({"end"}, absl::NotFoundError("planted")).IgnoreError();
    } else {
      EXPECT_FALSE(rank.agreement.meet({"evaluation", 1}, {}).ok());
    }
    EXPECT_TRUE(rank.agreement.all_whole());
    ASSERT_TRUE(rank.agreement.reopen());
    EXPECT_FALSE(rank.agreement.over());
    EXPECT_EQ(rank.agreement.failed_rank(), 2);
    ASSERT_OK(rank.agreement.meet({"checkpoint", 3}));
    // A new failure is reported as usual, and ends the run.
    const absl::Status own = number == 1 ? absl::DataLossError("disk") : absl::OkStatus();
    EXPECT_FALSE(rank.agreement.settle({"saving"}, own).ok());
    EXPECT_TRUE(rank.agreement.over());
    EXPECT_FALSE(rank.agreement.reopen());
    EXPECT_EQ(rank.agreement.failed_rank(), 2) << "the run failed there";
  });
}

TEST(Agreement, RanksAtOneBoundaryActTogetherAgainAndOthersDoNot) {
  for (const int at : {3, 4}) {  // of rank 1; 4 is another boundary than that of the others
    for (const bool is_amid : {false, true}) {
      on_ranks(2, [&](int number, Rank& rank) {
        rank.agreement.set_boundary([&, number]() -> std::optional<std::string> {
          if (is_amid && number == 0) return std::nullopt;
          return absl::StrCat("step ", number == 1 ? at : 3);
        });
        const absl::Status own = number == 1 ? absl::DataLossError("data") : absl::OkStatus();
        EXPECT_FALSE(rank.agreement.settle({"end"}, own).ok());
        EXPECT_EQ(rank.agreement.reopen(), at == 3 && !is_amid);
      });
    }
  }
}

TEST(Agreement, OneRankWhoseStateIsNotWholeIsEnoughToEndIt) {
  on_ranks(3, [](int number, Rank& rank) {
    rank.agreement.set_state_is_whole(number != 1);
    const absl::Status own = number == 0 ? absl::NotFoundError("planted") : absl::OkStatus();
    EXPECT_FALSE(rank.agreement.settle({"end"}, own).ok());
    EXPECT_FALSE(rank.agreement.all_whole());
    EXPECT_FALSE(rank.agreement.reopen());
    EXPECT_TRUE(rank.agreement.over());
    rank.agreement.begin_run();
    EXPECT_FALSE(rank.agreement.over());
  });
}

TEST(Agreement, CommonRequestsOfOneRankAloneAreNamed) {
  on_ranks(3, [](int number, Rank& rank) {
    ASSERT_OK(rank.agreement.meet({"step", 1}, {}));
    if (number == 1) {
      RequestSet common;
      common.add({Request::kEvaluate, "a", "my_hook"});
      rank.agreement.served(common);
    }
    EXPECT_THAT(rank.agreement.meet({"step", 2}, {}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("rank 0, rank 2 served nothing"),
                               HasSubstr("rank 1 served evaluate \"a\" (hook my_hook)"))));
    EXPECT_TRUE(rank.agreement.over());
  });
}

TEST(Agreement, RanksAtDifferentPlacesAreNamed) {
  on_ranks(2, [](int number, Rank& rank) {
    EXPECT_THAT(
        rank.agreement.meet({number == 0 ? "step" : "evaluation", 5}, {}),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr("then came to step 5"), HasSubstr("then came to evaluation 5"))));
  });
}

TEST(Agreement, TheSameRequestsInAnotherOrderAreADivergence) {
  on_ranks(2, [](int number, Rank& rank) {
    rank.agreement.served(number == 0 ? "x" : "y");
    rank.agreement.served(number == 0 ? "y" : "x");
    EXPECT_THAT(rank.agreement.meet({"step", 1}, {}),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

TEST(Agreement, RanksWhoseParametersDifferFromRankZeroAreNamed) {
  on_ranks(3, [](int number, Rank& rank) {
    rank.agreement.served("window 7");
    rank.agreement.served_parameters(200, number == 2 ? "digest b" : "digest a");
    EXPECT_THAT(rank.agreement.meet({"report", 200}, {}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("rank 2 differs from rank 0: dense parameters after step "
                                         "200: digest b; on rank 0, dense parameters after step "
                                         "200: digest a."),
                               HasSubstr("ATEN_CPU_CAPABILITY"))));
  });
}

TEST(Agreement, OtherDifferencesAreNamedBesidesThatOfParameters) {
  on_ranks(2, [](int number, Rank& rank) {
    rank.agreement.served_parameters(1, number == 1 ? "digest b" : "digest a");
    if (number == 1) rank.agreement.served("window 7");
    EXPECT_THAT(rank.agreement.meet({"report", 1}, {}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("the ranks diverged"), HasSubstr("digest b, window 7"))));
  });
}

TEST(Agreement, ADeadRankEndsIt) {
  ThreadRanksOptions options;
  options.inject = [](const CollectiveCall& call) {
    return call.rank == 1 && call.ordinal == 1 ? absl::InternalError("died") : absl::OkStatus();
  };
  run_thread_ranks(options, [&](std::unique_ptr<Collectives> collectives) {
    Rank rank(std::move(collectives));
    EXPECT_OK(rank.agreement.meet({"step", 1}, {}));
    EXPECT_FALSE(rank.agreement.meet({"step", 2}, {}).ok());
    EXPECT_TRUE(rank.agreement.over());
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace millrace
