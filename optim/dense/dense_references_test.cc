// Compares weights with weights of other implementations: testdata/*.csv, written by
// make_references.py.

#include <google/protobuf/text_format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "optim/dense_optimizer_factory.h"

namespace millrace {
namespace {

struct References {
  DenseOptimizerConfig config;
  std::vector<std::vector<double>> weights;  // of all parameters, after each step
};

References read_references(const std::string& path) {
  References references;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.substr(0, 2), "# ") << path;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(line.substr(2), &references.config));
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    std::vector<double>& weights = references.weights.emplace_back();
    for (size_t i = 1; i < cells.size(); ++i) {
      EXPECT_TRUE(absl::SimpleAtod(cells[i], &weights.emplace_back())) << path << ": " << line;
    }
  }
  return references;
}

std::vector<std::string> reference_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("optim/dense/testdata")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Weights and gradients of make_references.py.
std::vector<at::Tensor> parameters(at::ScalarType type) {
  std::vector<at::Tensor> values = {torch::linspace(-1, 1, 6, torch::kDouble),
                                    torch::zeros({4}, torch::kDouble),
                                    torch::linspace(2, 3, 4, torch::kDouble)};
  for (at::Tensor& value : values) value = value.to(type).requires_grad_();
  return values;
}

at::Tensor gradient(int parameter, int step, const at::Tensor& weight) {
  constexpr double kScales[] = {1.0, 1e-6, 0.0};
  at::Tensor values = torch::empty(weight.sizes(), torch::kDouble);
  for (int64_t i = 0; i < values.numel(); ++i) {
    values[i] =
        kScales[parameter] * std::sin(1.7 * step + 0.9 * static_cast<double>(i) + 2.3 * parameter);
  }
  return values.to(weight.scalar_type());
}

class DenseReferencesTest : public testing::TestWithParam<std::string> {
 protected:
  void expect_agrees(at::ScalarType type, double tolerance) {
    const References references = read_references("optim/dense/testdata/" + GetParam() + ".csv");
    std::vector<at::Tensor> weights = parameters(type);
    ASSERT_OK_AND_ASSIGN(
        auto optimizer,
        create_dense_optimizer(references.config,
                               {{"a", weights[0]}, {"b", weights[1]}, {"c", weights[2]}}));
    ASSERT_EQ(references.weights.size(), 20);
    for (int step = 0; step < 20; ++step) {
      for (int i = 0; i < 3; ++i) weights[i].mutable_grad() = gradient(i, step, weights[i]);
      ASSERT_OK(optimizer->step({.step = step}));
      const at::Tensor all = torch::cat(weights).detach().to(torch::kDouble);
      const std::vector<double>& expected = references.weights[step];
      ASSERT_EQ(expected.size(), 14);
      for (int64_t i = 0; i < 14; ++i) {
        EXPECT_NEAR(all[i].item<double>(), expected[i], tolerance)
            << "weight " << i << " after step " << step + 1;
      }
    }
  }
};

TEST_P(DenseReferencesTest, Float64Agrees) { expect_agrees(at::kDouble, 1e-9); }

TEST_P(DenseReferencesTest, Float32Agrees) { expect_agrees(at::kFloat, 1e-5); }

INSTANTIATE_TEST_SUITE_P(All, DenseReferencesTest, testing::ValuesIn(reference_files()),
                         [](const auto& info) { return info.param; });

TEST(DenseReferenceFilesTest, AreThere) { EXPECT_GE(reference_files().size(), 9); }

}  // namespace
}  // namespace millrace
