// Admission, limits and default values of a collection in forward and backward passes, apply() and
// discard().
#include <google/protobuf/text_format.h>
#include <torch/types.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;
using Values = std::vector<float>;

// Features a (sum) and b (unpooled) share the table t of one column. New rows have the value 1.
// Plain SGD with rate 1.
class CollectionPoliciesTest : public testing::Test {
 protected:
  void make(const std::string& policies, int threads = 1) {
    EmbeddingCollectionOptions options;
    TableConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("name: 't' dim: 1 initializer { constant { value: 1 } } ", policies),
        &config));
    options.tables = {config};
    options.features = {{"a", "t", SUM}, {"b", "t", NONE}};
    options.threads = threads;
    ASSERT_OK_AND_ASSIGN(collection_, EmbeddingCollection::create(options));
    SparseOptimizerConfig sgd;
    sgd.mutable_sgd();
    ASSERT_OK_AND_ASSIGN(optimizer_, create_row_optimizer(sgd));
    ASSERT_OK(table().bind(optimizer_->slots(1)));
  }
  EmbeddingTable& table() { return *collection_->tables()[0]; }

  // Looks up one example. The loss is the sum of all outputs.
  absl::StatusOr<EmbeddingOutput> forward(const Ids& a, const Ids& b) {
    Ids all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto first = static_cast<int64_t>(a.size()), last = static_cast<int64_t>(all.size());
    return collection_->forward(
        {torch::tensor(all, torch::kLong), torch::tensor(Ids{0, first, last}, torch::kLong), {}});
  }
  Values run(const Ids& a, const Ids& b, bool backward = true) {
    absl::StatusOr<EmbeddingOutput> output = forward(a, b);
    EXPECT_OK(output);
    if (!output.ok()) return {};
    const at::Tensor rows = output->jagged("b")->rows;
    if (backward) (output->pooled.sum() + rows.sum()).backward();
    Values values = {output->pooled.item<float>()};
    for (int64_t i = 0; i < rows.numel(); ++i) values.push_back(rows[i][0].item<float>());
    return values;
  }
  Values evaluate(const Ids& a, const Ids& b) {
    at::NoGradGuard no_grad;
    return run(a, b, /*backward=*/false);
  }
  void apply() {
    TableUpdate update;
    update.optimizer = optimizer_.get();
    update.context.learning_rate = 1;
    update.context.step = ++step_;
    ASSERT_OK(collection_->apply(step_, {&update, 1}));
  }
  // Returns the weight of an id's row; NaN without a row.
  float weight(int64_t id) {
    RowIndex row = 0;
    table().find({&id, 1}, {&row, 1});
    return row == kNoRow ? std::nanf("") : *table().content().rows().weights(row);
  }

  std::shared_ptr<EmbeddingCollection> collection_;
  std::unique_ptr<RowOptimizer> optimizer_;
  int64_t step_ = 0;
};

TEST_F(CollectionPoliciesTest, AFrozenTableIsOnlyRead) {
  make("frozen: true default_value { constant { value: 10 } }");
  TableRows rows;
  rows.dim = 1;
  rows.ids = {5, 6};
  rows.weights = {2, 3};
  ASSERT_OK(table().content().load_rows(rows));
  const auto digest = table().content().digest();
  EXPECT_EQ(run({5, 7}, {6, 5}), (Values{12, 3, 2}));  // forward and backward
  EXPECT_EQ(collection_->summarize(true).norm_squared, 0);
  apply();
  EXPECT_EQ(run({5}, {7}, /*backward=*/false), (Values{2, 10}));
  collection_->discard();
  EXPECT_EQ(evaluate({5}, {6}), (Values{2, 3}));
  EXPECT_EQ(table().content().digest(), digest);
  EXPECT_EQ(table().applied_steps(), 0);
  EXPECT_EQ(table().maintenance().statistics().occurrences, 0);
  ASSERT_OK(collection_->apply(9, std::vector<TableUpdate>(1)));  // without an optimizer
}

TEST_F(CollectionPoliciesTest, UnadmittedIdsReadTheDefaultAndLearnNothing) {
  make("admission { count { min_count: 2 } } default_value { constant { value: 10 } }");
  EXPECT_EQ(run({5, 6}, {5}), (Values{20, 10}));  // forward and backward
  EXPECT_EQ(collection_->summarize(true).norm_squared, 0);
  apply();
  EXPECT_EQ(table().maintenance().statistics().rows, 0);
  EXPECT_EQ(evaluate({5}, {6, 7}), (Values{10, 10, 10}));
  // Ids 5 and 6 are admitted; 7 is not admitted at any position.
  EXPECT_EQ(run({7, 5, 5}, {7, 6, 7}), (Values{12, 10, 1, 10}));
  EXPECT_EQ(collection_->summarize(true).norm_squared, 4 + 1);
  apply();
  EXPECT_EQ(weight(5), 1 - 2);
  EXPECT_EQ(weight(6), 1 - 1);
  EXPECT_EQ(table().maintenance().statistics().rows, 2);
  EXPECT_EQ(run({7}, {8}), (Values{1, 10}));
}

TEST_F(CollectionPoliciesTest, MicroBatchesCountAsOneStep) {
  make("admission { count { min_count: 2 } } default_value { constant {} }");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run({1}, {1, 2}), (Values{0, 0, 0}));
  apply();
  EXPECT_EQ(table().maintenance().statistics().unadmitted, 12);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run({1}, {2}), (Values{1, 1}));
  apply();
  EXPECT_EQ(weight(1), 1 - 4);
}

TEST_F(CollectionPoliciesTest, ADiscardedStepLeavesRowsAndCountsAsTheyWere) {
  make("admission { count { min_count: 2 } }");
  run({1, 2}, {});
  apply();
  run({1}, {});
  apply();
  const absl::uint128 digest = table().content().digest();
  const AdmissionState counts = table().content().admission_state();
  EXPECT_EQ(counts.ids, Ids{2});
  run({2, 3, 3}, {1, 4});
  run({3}, {3}, /*backward=*/false);
  collection_->discard();
  EXPECT_EQ(table().content().digest(), digest);
  EXPECT_EQ(table().content().admission_state(), counts);
  // Repeating the discarded step has the result of a first try.
  run({2, 3, 3}, {1, 4});
  apply();
  EXPECT_EQ(weight(2), 0);
  EXPECT_EQ(table().content().admission_state().counts.size(), 2u);
}

TEST_F(CollectionPoliciesTest, ReadOnlyTablesTrainTheRowsTheyHave) {
  make("admission { read_only {} }");
  TableRows rows;
  rows.dim = 1;
  rows.ids = {4};
  rows.weights = {7};
  ASSERT_OK(table().content().load_rows(rows));
  EXPECT_EQ(run({4, 5}, {5}), (Values{8, 1}));
  apply();
  EXPECT_EQ(weight(4), 6);
  EXPECT_EQ(table().maintenance().statistics().rows, 1);
}

TEST_F(CollectionPoliciesTest, AFullTableIsAnErrorThatNamesTableAndFeature) {
  make("limit { max_rows: 2 }");
  run({1}, {});
  apply();
  const absl::uint128 digest = table().content().digest();
  run({2}, {});
  EXPECT_THAT(forward({1}, {2, 3}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("feature b"), HasSubstr("table t has 2 rows and needs 1"),
                             HasSubstr("limit is 2 rows"))));
  collection_->discard();
  EXPECT_EQ(table().content().digest(), digest);
  run({1, 2}, {2});
  apply();
  EXPECT_EQ(table().maintenance().statistics().rows, 2);
}

TEST_F(CollectionPoliciesTest, LimitsActAfterTheUpdate) {
  make("limit { max_rows: 2 on_full: EVICT_LRU evict_to: 1 }");
  run({1, 2}, {});
  apply();
  run({3, 1}, {});
  apply();
  EXPECT_EQ(weight(1), 1 - 2);
  EXPECT_EQ(weight(3), 0);
  EXPECT_EQ(run({2}, {}), Values{1});  // inserted again, with its initial value
  apply();
  EXPECT_EQ(table().maintenance().statistics().evicted_rows(), 2);
}

TEST_F(CollectionPoliciesTest, ThreadsChangeNothing) {
  std::vector<absl::uint128> digests;
  std::vector<AdmissionState> counts;
  for (const int threads : {1, 3}) {
    make(
        "admission { count { min_count: 3 sketch { capacity: 2000 } } } "
        "limit { max_rows: 700 on_full: EVICT_LFU }",
        threads);
    step_ = 0;
    for (int64_t step = 0; step < 12; ++step) {
      Ids a(2000), b(1500);
      for (int64_t i = 0; i < 2000; ++i) a[i] = (i * i + step * 37) % 3001;
      for (int64_t i = 0; i < 1500; ++i) b[i] = (i * 7 + step) % 997;
      run(a, b);
      apply();
    }
    digests.push_back(table().content().digest());
    counts.push_back(table().content().admission_state());
  }
  EXPECT_GT(table().maintenance().statistics().evicted_rows(), 0);
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(counts[0], counts[1]);
}

}  // namespace
}  // namespace millrace
