#include "bench/matrix_products.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "framework/precision/autocast_scope.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Sizes = std::vector<int64_t>;

std::vector<std::string> names_of(const std::vector<MatrixProduct>& products) {
  std::vector<std::string> names;
  for (const MatrixProduct& product : products) names.push_back(product.name());
  return names;
}

std::vector<Sizes> sizes_of(const MatrixProduct& product) {
  std::vector<Sizes> sizes;
  for (const at::Tensor& operand : product.operands()) sizes.push_back(operand.sizes().vec());
  return sizes;
}

// A layer of 3 inputs and 2 outputs on 5 examples, and its loss.
class LayerTest : public testing::Test {
 protected:
  at::Tensor loss() const { return at::linear(input_, weight_, bias_).relu().sum(); }

  const at::Tensor input_ = at::rand({5, 3}).requires_grad_();
  const at::Tensor weight_ = at::rand({2, 3}).requires_grad_();
  const at::Tensor bias_ = at::rand({2}).requires_grad_();
};

TEST_F(LayerTest, ForwardAndBackwardProductsInTheirOrder) {
  MatrixProductRecorder recorder;
  loss().backward();
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_THAT(names_of(products), ElementsAre("aten::addmm", "aten::mm", "aten::mm"));
  EXPECT_THAT(sizes_of(products[0]), ElementsAre(Sizes{2}, Sizes{5, 3}, Sizes{3, 2}));
  const at::Tensor& transposed = products[0].operands()[2];
  EXPECT_EQ(transposed.strides(), weight_.t().strides()) << "transposes stay what they are";
  EXPECT_EQ(products[0].result().sizes(), at::IntArrayRef({5, 2}));
  // The gradients of the input, [5, 2] x [2, 3], and of the weight, [2, 5] x [5, 3] or transposed.
  std::vector<double> operations;
  for (const MatrixProduct& product : products) operations.push_back(product.operations());
  EXPECT_THAT(operations, ElementsAre(2 * 5 * 3 * 2, 2 * 5 * 3 * 2, 2 * 5 * 3 * 2));
}

TEST_F(LayerTest, OperandsShareMemoryAsTheyDid) {
  MatrixProductRecorder recorder;
  loss().backward();
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_EQ(products.size(), 3);
  const auto memory_of = [&](const at::Tensor& recorded) {
    std::set<const void*> memory;
    for (const MatrixProduct& product : products) {
      for (const at::Tensor& operand : product.operands()) {
        if (operand.numel() == recorded.numel()) memory.insert(operand.data_ptr());
      }
    }
    return memory;
  };
  EXPECT_EQ(memory_of(weight_).size(), 1) << "in the forward and the backward pass";
  EXPECT_EQ(memory_of(input_).size(), 1);
  EXPECT_EQ(memory_of(weight_).count(weight_.data_ptr()), 0) << "it is not the recorded memory";
}

TEST_F(LayerTest, OperandsUnderAutocastAreConvertedOnes) {
  MatrixProductRecorder recorder;
  at::Tensor loss;
  {
    const AutocastScope autocast(PrecisionConfig::BFLOAT16);
    loss = this->loss();
  }
  loss.backward();
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_THAT(names_of(products), ElementsAre("aten::addmm", "aten::mm", "aten::mm"));
  for (const MatrixProduct& product : products) {
    for (const at::Tensor& operand : product.operands()) {
      EXPECT_EQ(operand.scalar_type(), at::kBFloat16) << product.name();
    }
    EXPECT_EQ(product.result().scalar_type(), at::kBFloat16) << product.name();
  }
}

TEST(MatrixProductsTest, BatchesOfProducts) {
  const at::Tensor z = at::rand({4, 3, 2});
  MatrixProductRecorder recorder;
  std::ignore = at::bmm(z, z.transpose(1, 2));
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_THAT(names_of(products), ElementsAre("aten::bmm"));
  EXPECT_THAT(sizes_of(products[0]), ElementsAre(Sizes{4, 3, 2}, Sizes{4, 2, 3}));
  EXPECT_EQ(products[0].operands()[1].strides(), z.transpose(1, 2).strides());
  EXPECT_EQ(products[0].operations(), 2 * 4 * 3 * 3 * 2);
}

TEST(MatrixProductsTest, AProductRunsAgainOnItsOperands) {
  MatrixProductRecorder recorder;
  std::ignore = at::addmm(at::rand({1, 4}), at::rand({6, 3}), at::rand({3, 4}), 0.5, 2.0);
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_EQ(products.size(), 1);
  const MatrixProduct& product = products[0];
  const std::vector<at::Tensor>& operands = product.operands();
  const void* memory = product.result().data_ptr();
  product.result().zero_();
  product.run();
  const at::Tensor expected = 0.5 * operands[0] + 2.0 * operands[1].matmul(operands[2]);
  EXPECT_TRUE(at::allclose(product.result(), expected, 1e-5, 1e-6));
  EXPECT_EQ(product.result().data_ptr(), memory) << "the result has its memory already";
}

TEST(MatrixProductsTest, ExpandedOperandsStayExpanded) {
  const at::Tensor expanded = at::rand({5, 1}).expand({5, 4});
  MatrixProductRecorder recorder;
  std::ignore = at::mm(expanded, at::rand({4, 2}));
  const std::vector<MatrixProduct> products = recorder.stop();
  ASSERT_EQ(products.size(), 1);
  EXPECT_EQ(products[0].operands()[0].strides(), at::IntArrayRef({1, 0}));
}

TEST(MatrixProductsTest, OtherOperatorsAndOtherTimesDoNotCount) {
  const at::Tensor a = at::rand({2, 2});
  std::ignore = a.mm(a);
  MatrixProductRecorder recorder;
  std::ignore = (a + a).relu().sum();
  const std::vector<MatrixProduct> products = recorder.stop();
  std::ignore = a.mm(a);
  EXPECT_THAT(products, IsEmpty());
}

TEST(MatrixProductsTest, ARecorderThatIsNotStoppedLeavesNothingBehind) {
  const at::Tensor a = at::rand({2, 2});
  {
    const MatrixProductRecorder recorder;
    std::ignore = a.mm(a);
  }
  std::ignore = a.mm(a);
  MatrixProductRecorder recorder;
  std::ignore = a.mm(a);
  EXPECT_EQ(recorder.stop().size(), 1);
}

}  // namespace
}  // namespace millrace
