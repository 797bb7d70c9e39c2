#include "framework/ranks/commit_exchange.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/failure_kind.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// A rank with one parameter of two elements with a gradient of 1.
struct Rank {
  explicit Rank(std::unique_ptr<Collectives> the_collectives)
      : collectives(std::move(the_collectives)), agreement(*collectives, requests, {}) {
    parameters = {{"w", at::zeros({2}).requires_grad_(true)}};
    parameters[0].value.mutable_grad() = at::ones({2});
    commit.emplace(agreement, parameters);
    agreement.start({"step", 1}, {});
    commit->begin_step(1);
  }
  at::Tensor gradient() { return parameters[0].value.grad(); }

  std::unique_ptr<Collectives> collectives;
  RequestQueue requests;
  Agreement agreement;
  std::vector<NamedParameter> parameters;
  std::optional<CommitExchange> commit;
};

CommitInput input(double loss, int64_t examples = 4) {
  CommitInput input;
  input.examples = examples;
  input.loss = at::scalar_tensor(loss, at::kFloat);
  return input;
}

void on_ranks(int world_size, const std::function<void(int rank, Rank& rank_state)>& body) {
  run_thread_ranks({.world_size = world_size}, [&](std::unique_ptr<Collectives> collectives) {
    const int number = collectives->rank();
    Rank rank(std::move(collectives));
    body(number, rank);
    return absl::OkStatus();
  });
}

TEST(CommitExchange, OneRankDecidesForItself) {
  Rank rank(std::make_unique<OneRankCollectives>());
  EXPECT_FALSE(rank.commit->decided());
  ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(input(3)));
  EXPECT_TRUE(rank.commit->decided());
  EXPECT_TRUE(decision.apply);
  EXPECT_EQ(decision.refused, "");
  EXPECT_EQ(decision.loss.item<double>(), 3);
  EXPECT_EQ(decision.gradient_scale, 1);
}

TEST(CommitExchange, SumsLossesAndGradients) {
  on_ranks(3, [](int number, Rank& rank) {
    ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(input(number + 1)));
    EXPECT_TRUE(decision.apply);
    EXPECT_EQ(decision.loss.item<double>(), 6);
    EXPECT_TRUE(at::equal(rank.gradient(), at::full({2}, 3)));
  });
}

TEST(CommitExchange, CorrectsByTargetsOfAllRanksThatHadExamples) {
  on_ranks(3, [](int number, Rank& rank) {
    CommitInput mine = input(1, 12);
    mine.targets = at::scalar_tensor(number + 1.0);
    if (number == 2) {
      mine.loss = at::Tensor();
      mine.targets = at::Tensor();
      rank.parameters[0].value.mutable_grad() = at::Tensor();
    }
    ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(mine));
    EXPECT_EQ(decision.gradient_scale, 4) << "12 examples, 1 + 2 targets";
    EXPECT_EQ(decision.loss.item<double>(), 8);
    EXPECT_TRUE(at::equal(rank.gradient(), at::full({2}, 8)));
  });
}

TEST(CommitExchange, TargetsOnSomeRanksOnlyAreAnError) {
  on_ranks(2, [](int number, Rank& rank) {
    CommitInput mine = input(1);
    if (number == 1) mine.targets = at::ones({});
    const absl::Status status = rank.commit->run(mine).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("targets on some ranks")));
    EXPECT_EQ(kind_of(status), FailureKind::kPart);
  });
}

TEST(CommitExchange, TargetsThatAddUpToNothingAreAnError) {
  on_ranks(2, [](int, Rank& rank) {
    CommitInput mine = input(1);
    mine.targets = at::zeros({});
    const absl::Status status = rank.commit->run(mine).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("add up to 0")));
    EXPECT_EQ(kind_of(status), FailureKind::kPart);
  });
}

TEST(CommitExchange, OneValueThatIsNotFiniteRefusesTheStepOnAllRanks) {
  on_ranks(3, [](int number, Rank& rank) {
    CommitInput mine = input(number == 1 ? std::numeric_limits<double>::quiet_NaN() : 1);
    if (number == 2) mine.non_finite = "the gradient of a table";
    ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(mine));
    EXPECT_FALSE(decision.apply);
    EXPECT_EQ(decision.refused, "the loss (on rank 1, and on 1 more)");
  });
  on_ranks(2, [](int number, Rank& rank) {
    if (number == 1) rank.gradient()[1] = std::numeric_limits<float>::infinity();
    ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(input(1)));
    EXPECT_FALSE(decision.apply);
    EXPECT_EQ(decision.refused, "the gradient of w");
  });
}

TEST(CommitExchange, SumsThatOverflowRefuseTheStep) {
  on_ranks(2, [](int, Rank& rank) {
    rank.gradient().fill_(std::numeric_limits<float>::max());
    ASSERT_OK_AND_ASSIGN(const CommitDecision decision, rank.commit->run(input(1)));
    EXPECT_FALSE(decision.apply);
    EXPECT_EQ(decision.refused, "the gradient of w");
  });
}

TEST(CommitExchange, AFailedRankTakesPartAsFailed) {
  on_ranks(3, [](int number, Rank& rank) {
    if (number == 1) {
      EXPECT_THAT(rank.commit->fail(absl::DataLossError("planted")),
                  StatusIs(absl::StatusCode::kDataLoss, "planted"));
    } else {
      EXPECT_THAT(rank.commit->run(input(1)),
                  StatusIs(absl::StatusCode::kAborted, "rank 1 failed: planted"));
    }
    EXPECT_TRUE(rank.commit->decided());
    EXPECT_TRUE(rank.agreement.over());
  });
}

TEST(CommitExchange, ARankThatFailedBeforeTheStepEndsItBeforeGradientsMeet) {
  run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> collectives) {
    if (collectives->rank() == 1) {
      RequestQueue requests;
      Agreement agreement(*collectives, requests, {});
      EXPECT_THAT(agreement.settle({"elsewhere"}, absl::DataLossError("planted")),
                  StatusIs(absl::StatusCode::kDataLoss));
      return absl::OkStatus();
    }
    Rank rank(std::move(collectives));
    EXPECT_THAT(rank.commit->run(input(1)),
                StatusIs(absl::StatusCode::kAborted, "rank 1 failed: planted"));
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace millrace
