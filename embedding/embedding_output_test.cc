#include "embedding/embedding_output.h"

#include <torch/types.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class EmbeddingOutputTest : public testing::Test {
 protected:
  EmbeddingOutput make() {
    auto places = std::make_shared<const std::vector<FeaturePlace>>(
        std::vector<FeaturePlace>{{"user", 2, 0, -1}, {"history", 3, -1, 0}, {"item", 1, 2, -1}});
    JaggedRows history{torch::ones({4, 3}), torch::tensor({0, 1, 4}, torch::kLong)};
    return EmbeddingOutput(torch::arange(6, torch::kFloat).view({2, 3}), {history}, places);
  }
};

TEST_F(EmbeddingOutputTest, FeaturesAreViewsOfTheirColumns) {
  EmbeddingOutput output = make();
  ASSERT_OK_AND_ASSIGN(at::Tensor user, output.feature("user"));
  ASSERT_OK_AND_ASSIGN(at::Tensor item, output.feature("item"));
  EXPECT_TRUE(user.equal(torch::tensor({{0.f, 1.f}, {3.f, 4.f}})));
  EXPECT_TRUE(item.equal(torch::tensor({{2.f}, {5.f}})));
  EXPECT_TRUE(item.is_alias_of(output.pooled));
}

TEST_F(EmbeddingOutputTest, UnpooledFeaturesAreJagged) {
  ASSERT_OK_AND_ASSIGN(JaggedRows rows, make().jagged("history"));
  EXPECT_EQ(rows.rows.size(0), 4);
  EXPECT_EQ(rows.offsets.numel(), 3);
}

TEST_F(EmbeddingOutputTest, PaddedRowsEndInZeros) {
  auto places = std::make_shared<const std::vector<FeaturePlace>>(
      std::vector<FeaturePlace>{{"history", 2, -1, 0}});
  at::Tensor rows = torch::arange(1, 9, torch::kFloat).view({4, 2}).requires_grad_();
  const JaggedRows history{rows, torch::tensor({0, 1, 1, 4}, torch::kLong)};
  const EmbeddingOutput output(at::Tensor(), {history}, places);
  ASSERT_OK_AND_ASSIGN(const PaddedRows padded, output.padded("history", 2));
  EXPECT_TRUE(padded.rows.equal(torch::tensor(
      {{{1.f, 2.f}, {0.f, 0.f}}, {{0.f, 0.f}, {0.f, 0.f}}, {{3.f, 4.f}, {5.f, 6.f}}})));
  EXPECT_TRUE(padded.mask.equal(torch::tensor({{true, false}, {false, false}, {true, true}})));
  (padded.rows * torch::arange(12, torch::kFloat).view({3, 2, 2})).sum().backward();
  EXPECT_TRUE(rows.grad().equal(torch::tensor({{0.f, 1.f}, {8.f, 9.f}, {10.f, 11.f}, {0.f, 0.f}})));
  EXPECT_THAT(output.padded("history", 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("history")));
  EXPECT_THAT(output.padded("histroy", 2), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(EmbeddingOutputTest, PadsWhatIsEmpty) {
  const auto places = std::make_shared<const std::vector<FeaturePlace>>(
      std::vector<FeaturePlace>{{.name = "history", .dim = 2, .column = -1, .unpooled = 0}});
  for (const int64_t batch : {0, 3}) {
    const JaggedRows none{torch::empty({0, 2}), torch::zeros({batch + 1}, torch::kLong)};
    const EmbeddingOutput output(at::Tensor(), {none}, places);
    ASSERT_OK_AND_ASSIGN(const PaddedRows padded, output.padded("history", 4));
    EXPECT_TRUE(padded.rows.equal(torch::zeros({batch, 4, 2})));
    EXPECT_TRUE(padded.mask.equal(torch::zeros({batch, 4}, torch::kBool)));
  }
}

TEST_F(EmbeddingOutputTest, WrongNamesAreErrors) {
  const EmbeddingOutput output = make();
  EXPECT_THAT(output.feature("users"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"user\"")));
  EXPECT_THAT(output.jagged("histroy"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"history\"")));
  EXPECT_THAT(output.feature("history"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("jagged")));
  EXPECT_THAT(output.jagged("user"), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace millrace
