#include "embedding/embedding_collection.h"

#include <torch/types.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/collection_testing.h"

namespace millrace {
namespace {

using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Returns a smooth function of all outputs; the factors of a value depend on its index.
at::Tensor loss_of(const EmbeddingOutput& output) {
  auto term = [](const at::Tensor& values, double phase) {
    const at::Tensor factors =
        (torch::arange(values.numel(), torch::kFloat) * 0.7 + phase).sin().view_as(values);
    return (factors * values + 0.25 * (factors + 1) * values * values).sum();
  };
  return term(output.pooled, 1) + term(output.jagged("c")->rows, 2);
}

TEST(EmbeddingCollectionTest, OutputsArePooledRows) {
  Trained trained(small_options());
  const EmbeddingOutput output = trained.forward(jagged(kLists));
  ASSERT_OK(trained.apply(0));
  auto row = [&](int table, int64_t id) {
    return torch::from_blob(trained.row(table, id), {trained.table(table).dim()}).clone();
  };
  EXPECT_EQ(output.pooled.sizes(), (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(trained.collection->pooled_dim(), 8);
  at::NoGradGuard no_grad;
  const at::Tensor a = *output.feature("a"), b = *output.feature("b"), d = *output.feature("d");
  EXPECT_TRUE(a[0].allclose(row(0, 1) * 2 + row(0, 2)));
  EXPECT_TRUE(a[1].equal(torch::zeros({3})));
  EXPECT_TRUE(b[0].allclose((row(0, 2) + row(0, 3)) / 2));
  EXPECT_TRUE(b[1].equal(row(0, -5)));
  EXPECT_TRUE(d[1].allclose(row(1, 9) * 2));
  const JaggedRows c = *output.jagged("c");
  EXPECT_TRUE(c.rows.equal(torch::stack({row(0, 1), row(0, 1), row(0, 3), row(0, 0)})));
  EXPECT_TRUE(c.offsets.equal(torch::tensor({0, 2, 4}, torch::kLong)));
  EXPECT_EQ(trained.table(0).maintenance().statistics().rows, 5);
  EXPECT_EQ(trained.table(1).maintenance().statistics().rows, 1);
}

// Checks gradients by central differences, which are exact for a quadratic function up to rounding.
void check_gradients(const KeyedJagged& features,
                     const EmbeddingCollectionOptions& options = small_options()) {
  Trained trained(options);
  trained.forward(features);
  ASSERT_OK(trained.apply(0));
  std::vector<std::vector<float>> before;
  for (int t = 0; t < 2; ++t) before.push_back(trained.table(t).content().export_rows().weights);

  // The numeric gradient of every weight of every row.
  std::vector<std::vector<double>> numeric(2);
  constexpr float kStep = 0x1p-6f;
  for (int t = 0; t < 2; ++t) {
    for (const RowIndex row : trained.table(t).content().rows_in_placement_order()) {
      for (int64_t c = 0; c < trained.table(t).dim(); ++c) {
        float& weight = trained.table(t).content().mutable_row(row).weights()[c];
        const float original = weight;
        weight = original + kStep;
        const double above = loss_of(trained.evaluate(features)).item<float>();
        weight = original - kStep;
        const double below = loss_of(trained.evaluate(features)).item<float>();
        weight = original;
        numeric[t].push_back((above - below) / (2 * kStep));
      }
    }
  }
  // SGD with rate 1 subtracts the gradient from the weights.
  loss_of(trained.forward(features)).backward();
  ASSERT_OK(trained.apply(1));
  for (int t = 0; t < 2; ++t) {
    const std::vector<float> after = trained.table(t).content().export_rows().weights;
    ASSERT_EQ(after.size(), numeric[t].size());
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_NEAR(before[t][i] - after[i], numeric[t][i], 1e-3)
          << "table " << t << ", weight " << i;
    }
  }
}

TEST(EmbeddingCollectionTest, GradientsAgreeWithDifferences) { check_gradients(jagged(kLists)); }

TEST(EmbeddingCollectionTest, GradientsOfWeightedIdsAgreeWithDifferences) {
  KeyedJagged features = jagged(kLists);
  features.weights = torch::linspace(-1, 2, features.values.numel());
  check_gradients(features);
}

TEST(EmbeddingCollectionTest, GradientsOfRootsAndCutListsAgreeWithDifferences) {
  EmbeddingCollectionOptions options = small_options();
  options.features[0].pooling = SQUARE_ROOT_N;
  options.features[1].max_ids = 1;
  options.features[2].max_ids = 1;
  KeyedJagged features = jagged(kLists);
  check_gradients(features, options);
  features.weights = torch::linspace(-1, 2, features.values.numel());
  check_gradients(features, options);
}

TEST(EmbeddingCollectionTest, GradientsOfPaddedRowsReachTheirRows) {
  Trained padded(small_options()), jagged_rows(small_options());
  const KeyedJagged features = jagged({{}, {}, {}, {}, /*c*/ {1, 1, 2}, {3}, {}, {}});
  const at::Tensor factors = torch::arange(1, 13, torch::kFloat).view({2, 2, 3});
  // Uses the first two rows of each list, which include a repeated row; the third id, 2, is
  // omitted.
  const EmbeddingOutput output = padded.forward(features);
  ASSERT_OK_AND_ASSIGN(const PaddedRows rows, output.padded("c", 2));
  EXPECT_TRUE(rows.mask.equal(torch::tensor({{true, true}, {true, false}})));
  (rows.rows * factors).sum().backward();
  const at::Tensor all = jagged_rows.forward(features).jagged("c")->rows;
  (all[0] * factors[0][0] + all[1] * factors[0][1] + all[3] * factors[1][0]).sum().backward();
  const std::vector<absl::uint128> before = padded.digests();
  ASSERT_OK(padded.apply());
  ASSERT_OK(jagged_rows.apply());
  EXPECT_EQ(padded.digests(), jagged_rows.digests());
  EXPECT_NE(padded.digests(), before);
}

TEST(EmbeddingCollectionTest, GradientsOfFirstRowsAgreeWithDifferences) {
  EmbeddingCollectionOptions options = small_options();
  options.features[0].pooling = FIRST_N;
  options.features[0].max_ids = 2;
  options.features[3].pooling = FIRST_N;
  options.features[3].max_ids = 4;
  KeyedJagged features = jagged(kLists);
  check_gradients(features, options);
  features.weights = torch::linspace(-1, 2, features.values.numel());
  check_gradients(features, options);
}

TEST(EmbeddingCollectionTest, FirstRowsAreThoseOfAPaddedSequence) {
  EmbeddingCollectionOptions options = small_options();
  options.features[2].pooling = FIRST_N;
  options.features[2].max_ids = 2;
  Trained first(options), padded(small_options());
  // The third id of the first list is omitted; id 1 repeats.
  const KeyedJagged features = jagged({{}, {}, {1}, {}, /*c*/ {1, 1, 2}, {3}, {9}, {}});
  const EmbeddingOutput output = first.forward(features), other = padded.forward(features);
  ASSERT_OK_AND_ASSIGN(const at::Tensor side_by_side, output.feature("c"));
  ASSERT_OK_AND_ASSIGN(const PaddedRows rows, other.padded("c", 2));
  EXPECT_TRUE(side_by_side.equal(rows.rows.flatten(1)));
  EXPECT_EQ(first.collection->pooled_dim(), 3 + 3 + 2 * 3 + 2);
  EXPECT_TRUE(output.feature("d")->equal(*other.feature("d")));
  EXPECT_THAT(output.jagged("c"), StatusIs(absl::StatusCode::kFailedPrecondition));
  const at::Tensor factors = torch::arange(1, 13, torch::kFloat).view({2, 6});
  (side_by_side * factors).sum().backward();
  (rows.rows.flatten(1) * factors).sum().backward();
  ASSERT_OK(first.apply());
  ASSERT_OK(padded.apply());
  // Only the padded feature has looked up the omitted id.
  EXPECT_EQ(first.row(0, 2), nullptr);
  for (const int64_t id : {1, 3}) {
    for (int c = 0; c < 3; ++c) EXPECT_EQ(first.row(0, id)[c], padded.row(0, id)[c]);
  }
  const at::Tensor evaluated = *first.evaluate(features).feature("c");
  EXPECT_TRUE(evaluated.equal(padded.evaluate(features).padded("c", 2)->rows.flatten(1)));
}

TEST(EmbeddingCollectionTest, OnlyTheFirstIdsOfAListAreLookedUp) {
  EmbeddingCollectionOptions options = small_options();
  for (EmbeddingFeature& feature : options.features) feature.max_ids = 1;
  Trained cut(options), whole(small_options());
  const Lists first = {{1}, {}, {2}, {-5}, {1}, {3}, {}, {9}};
  KeyedJagged weighted = jagged(kLists), weighted_first = jagged(first);
  for (const bool weights : {false, true}) {
    if (weights) {
      weighted.weights = torch::arange(1, 1 + weighted.values.numel(), torch::kFloat);
      weighted_first.weights = torch::tensor({1.f, 4.f, 6.f, 7.f, 9.f, 11.f});
    }
    const EmbeddingOutput a = cut.forward(weighted), b = whole.forward(weighted_first);
    EXPECT_TRUE(a.pooled.equal(b.pooled));
    EXPECT_TRUE(a.jagged("c")->rows.equal(b.jagged("c")->rows));
    EXPECT_TRUE(a.jagged("c")->offsets.equal(b.jagged("c")->offsets));
    loss_of(a).backward();
    loss_of(b).backward();
    ASSERT_OK(cut.apply());
    ASSERT_OK(whole.apply());
    EXPECT_EQ(cut.digests(), whole.digests());
  }
}

TEST(EmbeddingCollectionTest, RowsOf16BitsTrainAlikeWhateverTheThreads) {
  for (const RowDtype dtype : {FLOAT16, BFLOAT16}) {
    EmbeddingCollectionOptions options = small_options();
    for (TableConfig& table : options.tables) table.set_row_dtype(dtype);
    Trained one(options, "adagrad");
    options.threads = 3;
    options.instruction_set = InstructionSet::kBaseline;
    Trained three(options, "adagrad");
    for (int step = 0; step < 5; ++step) {
      for (Trained* trained : {&one, &three}) {
        loss_of(trained->forward(jagged(kLists))).backward();
        ASSERT_OK(trained->apply(0.1));
      }
      EXPECT_EQ(one.digests(), three.digests());
    }
    // Evaluation reads the stored values of the rows.
    const TableRows rows = one.table(0).content().export_rows();
    const int64_t id = rows.ids[0];
    const EmbeddingOutput output = one.evaluate(jagged({{id}, {}, {}, {}}));
    EXPECT_TRUE(
        output.feature("a")->equal(torch::tensor(rows.weights).view({-1, 3}).narrow(0, 0, 1)));
  }
}

// Evaluation does not wait while rows are inserted, updated and evicted.
TEST(EmbeddingCollectionTest, ManyThreadsEvaluateWhileOneTrains) {
  EmbeddingCollectionOptions options = small_options();
  options.threads = 2;
  for (TableConfig& table : options.tables) table.mutable_eviction()->set_idle_steps(1);
  Trained trained(options);
  Lists lists(4), others(4);
  for (int64_t i = 0; i < 3000; ++i) {
    lists[i % 4].push_back(i % 701);
    others[i % 4].push_back(i % 701 + 500);
  }
  const KeyedJagged features = jagged(lists), other_features = jagged(others);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      do {
        const EmbeddingOutput output = trained.evaluate(features);
        EXPECT_TRUE(output.pooled.isfinite().all().item<bool>());
      } while (!done.load());
    });
  }
  for (int step = 0; step < 30; ++step) {
    trained.forward(step % 4 < 2 ? features : other_features).pooled.sum().backward();
    EXPECT_OK(trained.apply(0.01));
    for (int t = 0; t < 2; ++t)
      EXPECT_OK(trained.table(t).maintenance().evict({.step = trained.step}));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(trained.table(0).maintenance().statistics().evicted_rows(), 0);
}

TEST(EmbeddingCollectionTest, UsesOfOneOutputAddUp) {
  Trained trained(small_options()), reference(small_options());
  const EmbeddingOutput output = trained.forward(jagged(kLists));
  (output.pooled.sum() + 2 * output.pooled.sum() + output.feature("a")->sum()).backward();
  const EmbeddingOutput once = reference.forward(jagged(kLists));
  at::Tensor gradient = torch::full({2, 8}, 3.f);
  gradient.slice(1, 0, 3) += 1;
  once.pooled.backward(gradient);
  ASSERT_OK(trained.apply());
  ASSERT_OK(reference.apply());
  EXPECT_EQ(trained.digests(), reference.digests());
}

TEST(EmbeddingCollectionTest, MicroBatchesAndRepeatedForwardsAddUp) {
  for (const char* kind : {"sgd", "adagrad", "adam"}) {
    Trained one(small_options(), kind), micro(small_options(), kind), joint(small_options(), kind);
    // The same lists, with both examples in one batch or in two micro-batches.
    Lists first, second;
    for (size_t i = 0; i < kLists.size(); ++i) (i % 2 == 0 ? first : second).push_back(kLists[i]);
    for (int step = 0; step < 5; ++step) {
      one.forward(jagged(kLists)).pooled.square().sum().backward();
      ASSERT_OK(one.apply(0.1));
      micro.forward(jagged(first)).pooled.square().sum().backward();
      micro.forward(jagged(second)).pooled.square().sum().backward();
      ASSERT_OK(micro.apply(0.1));
      // Two forward passes and one backward pass.
      const EmbeddingOutput a = joint.forward(jagged(first)), b = joint.forward(jagged(second));
      (a.pooled.square().sum() + b.pooled.square().sum()).backward();
      ASSERT_OK(joint.apply(0.1));
    }
    EXPECT_EQ(micro.digests(), joint.digests()) << kind;
    for (int t = 0; t < 2; ++t) {
      const TableRows expected = one.table(t).content().export_rows(),
                      rows = micro.table(t).content().export_rows();
      EXPECT_EQ(rows.ids, expected.ids);
      EXPECT_EQ(rows.frequency, expected.frequency);
      EXPECT_EQ(rows.last_step, expected.last_step);
      for (size_t i = 0; i < rows.weights.size(); ++i) {
        EXPECT_NEAR(rows.weights[i], expected.weights[i], 1e-6) << kind;
      }
    }
  }
}

TEST(EmbeddingCollectionTest, ASecondBackwardPassThroughOneGraphAdds) {
  Trained trained(small_options()), reference(small_options());
  const at::Tensor sum = trained.forward(jagged(kLists)).pooled.sum();
  sum.backward({}, /*retain_graph=*/true);
  sum.backward();
  (2 * reference.forward(jagged(kLists)).pooled.sum()).backward();
  ASSERT_OK(trained.apply());
  ASSERT_OK(reference.apply());
  EXPECT_EQ(trained.digests(), reference.digests());
}

TEST(EmbeddingCollectionTest, GradientsThatOthersChangeLaterDoNotMatter) {
  Trained trained(small_options()), reference(small_options());
  // AccumulateGrad may keep the gradient's memory, shared with the collection, and add to it later.
  at::Tensor bias = torch::zeros({16}, torch::requires_grad());
  for (int pass = 0; pass < 2; ++pass) {
    const at::Tensor output = trained.forward(jagged(kLists)).pooled;
    ((output + bias.view({2, 8})) * (pass + 1)).sum().backward();
    (reference.forward(jagged(kLists)).pooled * (pass + 1)).sum().backward();
  }
  ASSERT_OK(trained.apply());
  ASSERT_OK(reference.apply());
  EXPECT_EQ(trained.digests(), reference.digests());
}

TEST(EmbeddingCollectionTest, RowsWithoutBackwardAreSeenAndStay) {
  for (const char* kind : {"sgd", "adam"}) {
    Trained trained(small_options(), kind);
    trained.forward(jagged(kLists)).pooled.sum().backward();
    ASSERT_OK(trained.apply());
    const std::vector<float> weights = trained.table(0).content().export_rows().weights;
    trained.forward(jagged(kLists));
    ASSERT_OK(trained.apply());
    EXPECT_EQ(trained.table(0).content().export_rows().weights, weights);
    EXPECT_THAT(trained.table(0).content().export_rows().last_step, testing::Each(2));
  }
  // The collection may be destroyed before the backward pass.
  at::Tensor left;
  {
    Trained trained(small_options());
    left = trained.forward(jagged(kLists)).pooled.sum();
  }
  left.backward();
}

TEST(EmbeddingCollectionTest, EmptyBatches) {
  Trained trained(small_options(), "adam");
  const EmbeddingOutput output = trained.forward(jagged({}));
  EXPECT_EQ(output.pooled.sizes(), (std::vector<int64_t>{0, 8}));
  EXPECT_EQ(output.jagged("c")->rows.sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(output.jagged("c")->offsets.numel(), 1);
  loss_of(output).backward();
  ASSERT_OK(trained.apply());
  const EmbeddingOutput lists = trained.forward(jagged({{}, {}, {}, {}, {}, {}, {}, {}}));
  EXPECT_TRUE(lists.pooled.equal(torch::zeros({2, 8})));
  loss_of(lists).backward();
  ASSERT_OK(trained.apply());
  EXPECT_EQ(trained.table(0).maintenance().statistics().rows, 0);
  EXPECT_EQ(trained.table(0).applied_steps(), 2);
  trained.collection->eval();
  EXPECT_EQ(trained.forward(jagged({})).pooled.size(0), 0);
}

TEST(EmbeddingCollectionTest, EvaluationChangesNothing) {
  Trained trained(small_options(), "adam");
  loss_of(trained.forward(jagged(kLists))).backward();
  ASSERT_OK(trained.apply());
  const std::vector<absl::uint128> digests = trained.digests();
  const Lists unknown = {{100, 1}, {}, {}, {101}, {102, 1}, {}, {103}, {9}};
  trained.collection->eval();
  const EmbeddingOutput evaluated = trained.forward(jagged(unknown));
  EXPECT_FALSE(evaluated.pooled.requires_grad());
  trained.collection->train();
  const EmbeddingOutput no_grad = trained.evaluate(jagged(unknown));
  EXPECT_EQ(trained.digests(), digests);
  EXPECT_EQ(trained.table(0).maintenance().statistics().rows, 5);
  EXPECT_TRUE(no_grad.pooled.equal(evaluated.pooled));
  // An unknown id reads the initial value of a training row.
  const EmbeddingOutput training = trained.forward(jagged(unknown));
  EXPECT_TRUE(training.pooled.equal(evaluated.pooled));
  EXPECT_TRUE(training.jagged("c")->rows.equal(evaluated.jagged("c")->rows));
  trained.collection->discard();
  EXPECT_EQ(trained.digests(), digests);
}

TEST(EmbeddingCollectionTest, DiscardUndoesTheStep) {
  Trained trained(small_options(), "adam"), reference(small_options(), "adam");
  auto step = [](Trained& which, const Lists& lists) {
    loss_of(which.forward(jagged(lists))).backward();
    ASSERT_OK(which.apply(0.1));
  };
  const Lists other = {{7, 2}, {8}, {}, {1}, {70, 71, 7}, {1}, {5}, {9}};
  step(trained, kLists);
  step(reference, kLists);
  const std::vector<absl::uint128> digests = trained.digests();
  loss_of(trained.forward(jagged(other))).backward();
  trained.forward(jagged(other));
  trained.collection->discard();
  EXPECT_EQ(trained.digests(), digests);
  EXPECT_EQ(trained.table(0).applied_steps(), 1);
  step(trained, other);
  step(reference, other);
  EXPECT_EQ(trained.digests(), reference.digests());
}

// Returns enough ids for several threads.
KeyedJagged random_features(std::mt19937& random, int64_t features, int64_t batch) {
  Lists lists(features * batch);
  for (std::vector<int64_t>& list : lists) {
    for (uint32_t i = random() % 5; i > 0; --i) list.push_back(random() % 300);
  }
  return jagged(lists);
}

TEST(EmbeddingCollectionTest, ThreadsDoNotChangeABit) {
  for (const char* kind : {"sgd", "adagrad", "rowwise_adagrad", "adam"}) {
    std::vector<std::vector<absl::uint128>> digests;
    std::vector<double> norms;
    for (const int threads : {1, 2, 3, 4}) {
      EmbeddingCollectionOptions options;
      options.threads = threads;
      for (int t = 0; t < 7; ++t) {
        options.tables.push_back(table_config(std::to_string(t).c_str(), 4 + 5 * t));
        options.features.push_back({absl::StrCat("f", t), std::to_string(t), t % 2 ? MEAN : SUM});
        options.features.push_back({absl::StrCat("g", t), std::to_string(t), SUM});
      }
      Trained trained(options, kind);
      std::mt19937 random(11);
      double norm = 0;
      for (int step = 0; step < 20; ++step) {
        const at::Tensor pooled = trained.forward(random_features(random, 14, 120)).pooled;
        at::Tensor gradient = torch::arange(pooled.numel(), torch::kFloat).remainder(17) - 8;
        pooled.backward(gradient.view_as(pooled) * 0.01);
        norm += trained.collection->summarize(true).norm_squared;
        ASSERT_OK(trained.apply(0.1));
      }
      digests.push_back(trained.digests());
      norms.push_back(norm);
    }
    for (int i = 1; i < 4; ++i) {
      EXPECT_EQ(digests[i], digests[0]) << kind;
      EXPECT_EQ(norms[i], norms[0]) << kind;
    }
  }
}

TEST(EmbeddingCollectionTest, TakesStridedInput) {
  Trained trained(small_options()), reference(small_options());
  const KeyedJagged features = jagged(kLists);
  KeyedJagged strided = features;
  strided.values = torch::stack({features.values, features.values + 1}, 1).select(1, 0);
  strided.offsets = torch::stack({features.offsets, features.offsets}, 1).select(1, 1);
  loss_of(trained.forward(strided)).backward();
  loss_of(reference.forward(features)).backward();
  strided.values.fill_(0);  // the input was copied
  ASSERT_OK(trained.apply());
  ASSERT_OK(reference.apply());
  EXPECT_EQ(trained.digests(), reference.digests());
}

TEST(EmbeddingCollectionTest, TablesByName) {
  Trained trained(small_options());
  ASSERT_OK_AND_ASSIGN(EmbeddingTable * table, trained.collection->table("u"));
  EXPECT_EQ(table, &trained.table(1));
  EXPECT_THAT(trained.collection->table("x"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(trained.collection->parameters().empty());
}

}  // namespace
}  // namespace millrace
