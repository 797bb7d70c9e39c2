// Errors of a collection and summaries of gradients.
#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/collection_testing.h"
#include "embedding/embedding_collection.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(CollectionErrorsTest, Summaries) {
  Trained trained(small_options());
  EXPECT_TRUE(trained.collection->summarize(true).finite);
  at::Tensor gradient = torch::zeros({2, 8});
  gradient[1][3] = 4;  // feature b of the second example, id -5
  gradient[0][0] = 1;  // feature a of the first example: ids 1 (twice) and 2
  trained.forward(jagged(kLists)).pooled.backward(gradient);
  GradientSummary summary = trained.collection->summarize(true);
  EXPECT_TRUE(summary.finite);
  EXPECT_DOUBLE_EQ(summary.norm_squared, 16 + 4 + 1);
  EXPECT_EQ(trained.collection->summarize(false).norm_squared, 0);
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    trained.collection->discard();
    gradient[1][7] = bad;
    trained.forward(jagged(kLists)).pooled.backward(gradient);
    EXPECT_FALSE(trained.collection->summarize(false).finite);
  }
  trained.collection->discard();
  EXPECT_TRUE(trained.collection->summarize(true).finite);
}

TEST(CollectionErrorsTest, RefusesBadInputAndChangesNothing) {
  Trained trained(small_options());
  const std::vector<absl::uint128> digests = trained.digests();
  KeyedJagged features = jagged(kLists);
  features.offsets[3] = 9;
  EXPECT_THAT(trained.collection->forward(features),
              StatusIs(kInvalid, HasSubstr("feature b of table t, example 1")));
  EXPECT_EQ(trained.digests(), digests);
  // The failed lookup left no trace in the step, so the step can continue.
  trained.forward(jagged(kLists)).pooled.sum().backward();
  EXPECT_OK(trained.apply());
}

TEST(CollectionErrorsTest, ALookupThatFailsEndsInDiscardAlone) {
  EmbeddingCollectionOptions options = small_options();
  options.tables[1].mutable_limit()->set_max_rows(1);
  options.tables[1].mutable_limit()->set_on_full(LimitConfig::FAIL);
  Trained trained(options);
  const std::vector<absl::uint128> digests = trained.digests();
  KeyedJagged features = jagged({{1}, {}, {}, {}, {}, {}, {7, 8}, {9}});
  features.weights = torch::ones({4});
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted,
                             AllOf(HasSubstr("feature d"), HasSubstr("table u")));
  EXPECT_THAT(trained.collection->forward(features), full);
  EXPECT_TRUE(trained.collection->summarize(true).finite);
  EXPECT_THAT(trained.apply(), full);
  EXPECT_EQ(trained.table(0).applied_steps(), 0);
  trained.collection->discard();
  EXPECT_EQ(trained.digests(), digests);
  EXPECT_OK(trained.apply());
}

TEST(CollectionErrorsTest, SummariesDependOnNoThread) {
  for (const bool unpooled : {false, true}) {
    for (const int threads : {1, 3}) {
      EmbeddingCollectionOptions options = small_options();
      options.threads = threads;
      options.features[0].pooling = unpooled ? NONE : SUM;
      Trained trained(options);
      const int64_t batch = 2000;  // enough for threads
      Lists lists(4 * batch);
      for (int64_t i = 0; i < 4 * batch; ++i) lists[i] = {i % 70};
      const EmbeddingOutput output = trained.forward(jagged(lists));
      at::Tensor gradient = torch::ones_like(output.pooled);
      gradient[batch - 1][-1] = NAN;  // feature d of table u
      output.pooled.backward(gradient);
      const GradientSummary summary = trained.collection->summarize(true);
      EXPECT_FALSE(summary.finite);
      EXPECT_EQ(summary.norm_squared, 0);
      EXPECT_EQ(summary.not_finite, "feature d of table u");
      trained.collection->discard();
      gradient[0][0] = INFINITY;
      trained.forward(jagged(lists)).pooled.backward(gradient);
      EXPECT_EQ(trained.collection->summarize(false).not_finite, "features a, b, c of table t");
    }
  }
}

TEST(CollectionErrorsTest, GradientsOfFrozenTablesAreLookedAt) {
  for (const Pooling pooling : {SUM, NONE}) {
    EmbeddingCollectionOptions options = small_options();
    options.tables[1].set_frozen(true);
    options.features[3].pooling = pooling;
    Trained trained(options);
    ASSERT_OK(trained.table(1).bind({}));
    const EmbeddingOutput output = trained.forward(jagged(kLists));
    const at::Tensor rows =
        pooling == NONE ? output.jagged("d")->rows : output.feature("d").value();
    at::Tensor gradient = torch::ones_like(rows);
    gradient[1][1] = NAN;
    rows.backward(gradient);
    EXPECT_EQ(trained.collection->summarize(false).not_finite, "feature d of table u");
    trained.collection->discard();
  }
}

TEST(CollectionErrorsTest, WeightsThatAreNoNumbersAreSeenInSums) {
  for (const float weight : {NAN, INFINITY}) {
    Trained trained(small_options());
    KeyedJagged features = jagged(kLists);
    features.weights = torch::ones({features.values.numel()});
    features.weights[0] = weight;
    const EmbeddingOutput output = trained.forward(features);
    output.pooled.backward(torch::zeros_like(output.pooled));
    EXPECT_FALSE(trained.collection->summarize(false).finite) << weight;
  }
}

TEST(CollectionErrorsTest, ASecondBackwardPassAfterASummaryCounts) {
  Trained trained(small_options()), reference(small_options());
  const Lists lists = {{1}, {2}, {3}, {1}, {1}, {3}, {9}, {9}};
  const at::Tensor twice = trained.forward(jagged(lists)).pooled.sum();
  twice.backward({}, /*keep_graph=*/true);
  EXPECT_TRUE(trained.collection->summarize(true).finite);
  twice.backward();
  EXPECT_TRUE(trained.collection->summarize(true).finite);
  (2 * reference.forward(jagged(lists)).pooled.sum()).backward();
  ASSERT_OK(trained.apply());
  ASSERT_OK(reference.apply());
  EXPECT_EQ(trained.digests(), reference.digests());
}

TEST(CollectionErrorsTest, ASummaryMayBeAskedForAgainWithItsNorm) {
  Trained asked(small_options()), once(small_options());
  for (Trained* trained : {&asked, &once}) trained->forward(jagged(kLists)).pooled.sum().backward();
  EXPECT_TRUE(asked.collection->summarize(false).finite);
  const GradientSummary again = asked.collection->summarize(true);
  const GradientSummary summary = once.collection->summarize(true);
  EXPECT_TRUE(again.finite);
  EXPECT_GT(again.norm_squared, 0);
  EXPECT_EQ(again.norm_squared, summary.norm_squared);
}

TEST(CollectionErrorsTest, RefusesGradientsThatChangedSinceTheyCame) {
  Trained trained(small_options());
  const std::vector<absl::uint128> digests = trained.digests();
  const at::Tensor gradient = torch::ones({2, 8});
  trained.forward(jagged(kLists)).pooled.backward(gradient);
  gradient.fill_(5);
  EXPECT_THAT(trained.apply(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the gradient of pooled features a, b, d of tables t, u was "
                                 "changed in place after the backward pass")));
  trained.collection->discard();
  EXPECT_EQ(trained.digests(), digests);
}

// Callers may reuse the input tensors for the next micro-batch.
TEST(CollectionErrorsTest, InputsMayChangeBeforeTheStepEnds) {
  Trained refilled(small_options()), fresh(small_options());
  const Lists lists = {{1, 2}, {3}, {1}, {1, 3, 3}, {7}, {8, 9}, {9}, {9, 2}};
  const Lists others = {{3}, {1, 2}, {1, 5, 1}, {1}, {7, 8}, {8}, {9, 4}, {9}};
  const KeyedJagged input = jagged(lists), other = jagged(others);
  ASSERT_EQ(input.values.numel(), other.values.numel());
  for (const KeyedJagged* each : {&input, &other}) {
    fresh.forward(jagged(each == &input ? lists : others)).pooled.sum().backward();
    input.values.copy_(each->values);
    input.offsets.copy_(each->offsets);
    refilled.forward(input).pooled.sum().backward();
  }
  input.values.fill_(-1);
  input.offsets.fill_(int64_t{1} << 40);
  EXPECT_TRUE(refilled.collection->summarize(true).finite);
  ASSERT_OK(refilled.apply());
  ASSERT_OK(fresh.apply());
  EXPECT_EQ(refilled.digests(), fresh.digests());
}

TEST(CollectionErrorsTest, RefusesGradientsOfAnotherShapeOrType) {
  Trained trained(small_options());
  const std::vector<absl::uint128> digests = trained.digests();
  const std::vector<std::pair<std::vector<at::Tensor>, const char*>> cases = {
      {{torch::ones({3, 8}), {}},
       "pooled features a, b, d of tables t, u: a gradient Float [3, 8]; Float [2, 8]"},
      {{torch::ones({2, 8}, torch::kDouble), {}}, "a gradient Double [2, 8]"},
      {{{}, torch::ones({4, 2})}, "feature c of table t: a gradient Float [4, 2]; Float [4, 3]"},
  };
  for (const auto& [gradients, message] : cases) {
    // Calls the node directly, since the autograd engine would check shapes first.
    const EmbeddingOutput output = trained.forward(jagged(kLists));
    (*output.pooled.grad_fn())(std::vector<at::Tensor>(gradients));
    EXPECT_THAT(trained.apply(), StatusIs(kInvalid, HasSubstr(message)));
    trained.collection->discard();
    EXPECT_EQ(trained.digests(), digests);
  }
}

TEST(CollectionErrorsTest, ApplyRefusesBadUpdatesAndChangesNothing) {
  Trained trained(small_options());
  trained.forward(jagged(kLists)).pooled.sum().backward();
  TableUpdate good;
  good.optimizer = trained.optimizer.get();
  auto apply = [&](const TableUpdate& second) {
    return trained.collection->apply(1, {good, second});
  };
  EXPECT_THAT(trained.collection->apply(1, {good}), StatusIs(kInvalid, HasSubstr("1 updates")));
  for (const double rate : {double{NAN}, double{INFINITY}, -0.1, 1e39}) {
    TableUpdate bad = good;
    bad.context.learning_rate = rate;
    EXPECT_THAT(apply(bad), StatusIs(kInvalid, HasSubstr("feature d of table u: learning rate")));
  }
  TableUpdate bad = good;
  for (const double scale : {double{NAN}, 1e39, -1e39}) {
    bad.context.gradient_scale = scale;
    EXPECT_THAT(apply(bad), StatusIs(kInvalid, HasSubstr("gradient scale")));
  }
  bad = good;
  const std::unique_ptr<RowOptimizer> adam = *create_row_optimizer(SparseOptimizerConfig());
  bad.optimizer = adam.get();
  EXPECT_THAT(apply(bad), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table u")));
  EXPECT_EQ(trained.table(0).applied_steps(), 0);
  EXPECT_EQ(trained.table(0).maintenance().statistics().rows, 0);
  EXPECT_OK(trained.apply());
  EXPECT_EQ(trained.table(0).maintenance().statistics().rows, 5);
}

// A row stores its last step in 32 bits.
TEST(CollectionErrorsTest, AStepThatRowsCannotNoteIsRefusedAndChangesNothing) {
  Trained trained(small_options());
  TableUpdate update;
  update.optimizer = trained.optimizer.get();
  const std::vector<TableUpdate> updates = {update, update};
  const std::vector<absl::uint128> digests = trained.digests();
  for (const int64_t step : {int64_t{-1}, int64_t{1} << 32, (int64_t{1} << 32) + 7}) {
    trained.forward(jagged(kLists)).pooled.sum().backward();
    EXPECT_THAT(trained.collection->apply(step, updates),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(absl::StrCat("table t cannot note step ", step))));
    trained.collection->discard();
    EXPECT_EQ(trained.digests(), digests);
  }
  trained.forward(jagged(kLists)).pooled.sum().backward();
  ASSERT_OK(trained.collection->apply((int64_t{1} << 32) - 1, updates));
  EXPECT_THAT(trained.table(0).content().export_rows().last_step, testing::Each(4294967295));
}

TEST(CollectionErrorsTest, ErrorsOfBackwardPassesComeFromApply) {
  Trained trained(small_options());
  const at::Tensor stale = trained.forward(jagged(kLists)).pooled.sum();
  trained.collection->discard();
  const std::vector<absl::uint128> digests = trained.digests();
  stale.backward();
  trained.forward(jagged(kLists)).pooled.sum().backward();
  EXPECT_THAT(trained.apply(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has ended")));
  trained.collection->discard();
  EXPECT_EQ(trained.digests(), digests);

  const at::Tensor pooled = trained.forward(jagged(kLists)).pooled;
  (pooled * pooled).sum().backward({}, true, /*create_graph=*/true);
  EXPECT_THAT(trained.apply(), StatusIs(absl::StatusCode::kUnimplemented));
  trained.collection->discard();
  EXPECT_OK(trained.apply());
}

TEST(CollectionErrorsTest, CreateRefusesBadOptions) {
  auto refused = [](void (*change)(EmbeddingCollectionOptions&), const char* message) {
    EmbeddingCollectionOptions options = small_options();
    change(options);
    EXPECT_THAT(EmbeddingCollection::create(options), StatusIs(kInvalid, StartsWith(message)));
  };
  refused([](EmbeddingCollectionOptions& o) { o.features.clear(); },
          "an embedding collection without features");
  refused([](EmbeddingCollectionOptions& o) { o.threads = 0; }, "threads");
  refused([](EmbeddingCollectionOptions& o) { o.features[1].max_ids = -1; },
          "feature b of table t: max_ids");
  refused([](EmbeddingCollectionOptions& o) { o.features[1].pooling = FIRST_N; },
          "feature b of table t: max_ids is 0; with pooling FIRST_N");
  refused([](EmbeddingCollectionOptions& o) { o.tables[1].set_name("t"); }, "two tables named t");
  refused([](EmbeddingCollectionOptions& o) { o.tables[1].set_dim(0); },
          "feature d: table u: dim is 0");
  refused(
      [](EmbeddingCollectionOptions& o) {
        o.tables.push_back(o.tables[0]);
        o.tables[2].set_name("unread");
        o.tables[2].set_dim(0);
      },
      "table unread: dim is 0");
  refused([](EmbeddingCollectionOptions& o) { o.features[1].name = "a"; }, "two features named a");
  refused([](EmbeddingCollectionOptions& o) { o.features[1].table = "v"; }, "feature b");
}

TEST(CollectionErrorsTest, FiniteGradientsWhoseSumIsNotAreSeen) {
  Trained trained(small_options());
  const EmbeddingOutput output = trained.forward(jagged(kLists));
  (output.pooled.sum() * 3e38).backward();  // one list contains id 1 twice
  EXPECT_FALSE(trained.collection->summarize(/*with_norm=*/false).finite);
  trained.collection->discard();
}

}  // namespace
}  // namespace millrace
