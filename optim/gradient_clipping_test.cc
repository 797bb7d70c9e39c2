#include "optim/gradient_clipping.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/types.h>

#include <cmath>

#include "base/progress.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ClippingConfig by_norm(double max_norm, ClippingConfig::Over over = ClippingConfig::ALL) {
  ClippingConfig config;
  config.set_max_norm(max_norm);
  config.set_over(over);
  return config;
}

ClippingConfig by_value(double max_value, ClippingConfig::Over over = ClippingConfig::ALL) {
  ClippingConfig config;
  config.set_max_value(max_value);
  config.set_over(over);
  return config;
}

// Parameters of several shapes with random gradients; one has none.
std::vector<NamedParameter> parameters(at::ScalarType type) {
  torch::manual_seed(3);
  std::vector<NamedParameter> all;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{7}, {33, 5}, {1, 1}, {}}) {
    at::Tensor value = torch::zeros(shape, type).requires_grad_();
    value.mutable_grad() = torch::randn(shape, type);
    all.push_back({"p" + std::to_string(all.size()), value});
  }
  all.push_back({"unused", torch::zeros({3}, type).requires_grad_()});
  return all;
}

std::vector<at::Tensor> values(const std::vector<NamedParameter>& parameters) {
  std::vector<at::Tensor> all;
  for (const NamedParameter& parameter : parameters) all.push_back(parameter.value);
  return all;
}

void expect_equal(const std::vector<NamedParameter>& a, const std::vector<NamedParameter>& b,
                  double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].value.grad().defined(), b[i].value.grad().defined());
    if (!a[i].value.grad().defined()) continue;
    EXPECT_LE((a[i].value.grad() - b[i].value.grad()).abs().max().item<double>(), tolerance);
  }
}

double tolerance(at::ScalarType type) { return type == at::kDouble ? 1e-12 : 1e-6; }

TEST(GradientClippingTest, ByNormAsTorch) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const double max_norm : {0.01, 1.0, 13.0, 1e6}) {
      const auto ours = parameters(type), theirs = parameters(type);
      const double norm = torch::nn::utils::clip_grad_norm_(values(theirs), max_norm);
      const auto result = GradientClipping::create(by_norm(max_norm))->clip(ours, nullptr, 1);
      ASSERT_EQ(result.norms.size(), 1u);
      EXPECT_EQ(result.norms[0].first, "gradient_norm");
      EXPECT_NEAR(result.norms[0].second, norm, norm * tolerance(type));
      expect_equal(ours, theirs, tolerance(type));
    }
  }
}

TEST(GradientClippingTest, ByValueAsTorch) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const auto ours = parameters(type), theirs = parameters(type);
    torch::nn::utils::clip_grad_value_(values(theirs), 0.4);
    const auto result = GradientClipping::create(by_value(0.4))->clip(ours, nullptr, 0.5);
    EXPECT_THAT(result.norms, IsEmpty());
    EXPECT_EQ(result.table_scale, 0.5);
    EXPECT_EQ(result.table_limit, 0.4);
    expect_equal(ours, theirs, 0);
    EXPECT_EQ(GradientClipping::create(by_value(0.4, ClippingConfig::DENSE))
                  ->clip(ours, nullptr, 0.5)
                  .table_limit,
              INFINITY);
  }
}

TEST(GradientClippingTest, GradientsThatAreNotContiguousOrOfAnotherTypeCount) {
  at::Tensor wide = torch::zeros({4, 2}).requires_grad_();
  wide.mutable_grad() = torch::ones({2, 4}).t();
  at::Tensor half = torch::zeros({4}, at::kBFloat16).requires_grad_();
  half.mutable_grad() = torch::full({4}, 1.0, at::kBFloat16);
  const std::vector<NamedParameter> both = {{"wide", wide}, {"half", half}};
  EXPECT_EQ(squared_norm(both), 12);
  GradientClipping::create(by_norm(std::sqrt(3.0)))->clip(both, nullptr, 1);
  EXPECT_NEAR(wide.grad()[3][1].item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(half.grad()[3].item<double>(), 0.5, 1e-2);
}

// The bits are those of TensorNormTest.
TEST(GradientClippingTest, TheNormOfOtherTypesHasAFixedOrderOfAdditions) {
  at::Tensor weight = torch::zeros({100'003}, at::kDouble).requires_grad_();
  weight.mutable_grad() = torch::arange(100'003, at::kFloat).mul(0.1).to(at::kDouble);
  EXPECT_EQ(squared_norm(std::vector<NamedParameter>{{"w", weight}}), 0x1.8414876b2ca6cp+41);
}

// One table of two columns, and one dense parameter with the gradient (3, 0).
class ClippingOfTablesTest : public testing::Test {
 protected:
  ClippingOfTablesTest() {
    EmbeddingCollectionOptions options;
    TableConfig table;
    table.set_name("items");
    table.set_dim(2);
    table.mutable_initializer()->mutable_constant()->set_value(0);
    options.tables.push_back(table);
    options.features.push_back({"items", "items", SUM});
    collection_ = *EmbeddingCollection::create(options);
    SparseOptimizerConfig sgd;
    sgd.mutable_sgd();
    sgd.set_learning_rate(1);
    optimizer_ = *SparseOptimizer::create(sgd, {collection_.get()});
    dense_.mutable_grad() = torch::tensor({3.0f, 0.0f});
  }

  // Id 7 occurs twice, id 8 once, each with this gradient in both columns.
  void backward(float gradient) {
    const KeyedJagged features{
        torch::tensor({7, 7, 8}, torch::kLong), torch::tensor({0, 2, 3}, torch::kLong), {}};
    absl::StatusOr<EmbeddingOutput> output = collection_->forward(features);
    ASSERT_OK(output);
    output->pooled.backward(torch::full({2, 2}, gradient));
  }
  GradientClipping::Result clip(const ClippingConfig& config, double scale = 1) {
    return GradientClipping::create(config)->clip(parameters_, optimizer_.get(), scale);
  }
  // Applies the step and returns the weights of ids 7 and 8.
  std::vector<float> apply(const GradientClipping::Result& clipped) {
    EXPECT_OK(optimizer_->step(Progress(), clipped.table_scale, clipped.table_limit));
    return collection_->tables()[0]->content().export_rows().weights;
  }

  std::shared_ptr<EmbeddingCollection> collection_;
  std::unique_ptr<SparseOptimizer> optimizer_;
  at::Tensor dense_ = torch::zeros({2}).requires_grad_();
  std::vector<NamedParameter> parameters_ = {{"dense", dense_}};
};

TEST_F(ClippingOfTablesTest, OneNormOverAllCountsSumsOfDuplicatesOnce) {
  backward(4);  // sums: (8, 8) and (4, 4), halved (4, 4) and (2, 2): squares 40
  const auto clipped = clip(by_norm(3.5), /*scale=*/0.5);
  EXPECT_THAT(clipped.norms, ElementsAre(Pair("gradient_norm", 7.0)));
  EXPECT_NEAR(clipped.table_scale, 0.25, 1e-6);
  EXPECT_NEAR(dense_.grad()[0].item<float>(), 1.5, 1e-6);
  const std::vector<float> weights = apply(clipped);
  EXPECT_NEAR(weights[0], -2, 1e-5);
  EXPECT_NEAR(weights[2], -1, 1e-5);
}

TEST_F(ClippingOfTablesTest, ANormBelowTheLimitChangesNothing) {
  backward(4);
  const auto clipped = clip(by_norm(100), 0.5);
  EXPECT_EQ(clipped.table_scale, 0.5);
  EXPECT_EQ(dense_.grad()[0].item<float>(), 3);
  EXPECT_THAT(apply(clipped), ElementsAre(-4, -4, -2, -2));
}

TEST_F(ClippingOfTablesTest, DenseParametersAlone) {
  backward(1);
  const auto clipped = clip(by_norm(1.5, ClippingConfig::DENSE));
  EXPECT_THAT(clipped.norms, ElementsAre(Pair("gradient_norm", 3.0)));
  EXPECT_EQ(clipped.table_scale, 1);
  EXPECT_NEAR(dense_.grad()[0].item<float>(), 1.5, 1e-6);
  EXPECT_THAT(apply(clipped), ElementsAre(-2, -2, -1, -1));
}

TEST_F(ClippingOfTablesTest, EachByItsOwnNorm) {
  backward(1);  // squares 10
  const auto clipped = clip(by_norm(1.5, ClippingConfig::EACH));
  EXPECT_THAT(clipped.norms,
              ElementsAre(Pair("gradient_norm/dense", 3.0),
                          Pair("gradient_norm/tables", testing::DoubleEq(std::sqrt(10.0)))));
  EXPECT_NEAR(dense_.grad()[0].item<float>(), 1.5, 1e-6);
  EXPECT_NEAR(clipped.table_scale, 1.5 / std::sqrt(10.0), 1e-6);
  apply(clipped);
}

TEST_F(ClippingOfTablesTest, ValuesOfScaledSums) {
  backward(-2);  // sums: -4 and -2, halved -2 and -1
  const auto clipped = clip(by_value(1.25), 0.5);
  EXPECT_EQ(dense_.grad()[0].item<float>(), 1.25);
  EXPECT_THAT(apply(clipped), ElementsAre(1.25, 1.25, 1, 1));
}

TEST(GradientClippingTest, RefusesLimitsOutOfRange) {
  EXPECT_THAT(GradientClipping::create(by_norm(-1)), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ClippingCheckTest, TakesALimitAboveZero) {
  ClippingConfig config;
  config.set_max_norm(1e-30);
  EXPECT_OK(check_clipping("clipping", config));
  config.set_max_value(5);
  EXPECT_OK(check_clipping("clipping", config));
}

TEST(ClippingCheckTest, RefusesNamingPlaceAndField) {
  const auto fails = [](const ClippingConfig& config, const char* what) {
    EXPECT_THAT(check_clipping("train.clipping", config), StatusIs(kInvalid, HasSubstr(what)));
  };
  ClippingConfig config;
  fails(config, "train.clipping: no limit, so that nothing is clipped; give max_norm or max_value");
  config.set_over(ClippingConfig::DENSE);
  fails(config, "train.clipping: no limit");
  config.set_max_norm(0);
  fails(config, "train.clipping: max_norm is 0; must be greater than 0 and finite");
  config.set_max_value(-1);
  fails(config, "train.clipping: max_value is -1");
}

}  // namespace
}  // namespace millrace
