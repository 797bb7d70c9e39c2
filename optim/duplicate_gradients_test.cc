// Compares duplicate_gradients with a model of a few lines: whole steps of several features and
// micro-batches, with and without weights of ids.
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

constexpr int64_t kDim = 3, kBatch = 5;

// A sum, a mean and a sequence of the table "shared", which has the optimizer of the job, and a
// root of "own", which has its own optimizer.
EmbeddingCollectionOptions make_options(SparseOptimizerConfig::DuplicateGradients own) {
  EmbeddingCollectionOptions options;
  for (const char* name : {"shared", "own"}) {
    TableConfig table;
    table.set_name(name);
    table.set_dim(kDim);
    table.mutable_initializer()->mutable_constant()->set_value(0);
    options.tables.push_back(table);
  }
  options.tables[1].mutable_optimizer()->mutable_sgd();
  options.tables[1].mutable_optimizer()->set_learning_rate(1);
  options.tables[1].mutable_optimizer()->set_duplicate_gradients(own);
  options.features = {{"sum", "shared", SUM},
                      {"mean", "shared", MEAN},
                      {"all", "shared", NONE},
                      {"first", "shared", FIRST_N, 2},
                      {"root", "own", SQUARE_ROOT_N}};
  return options;
}

// The expected effect of a step, in double: for each id the sum of coefficient × gradient, and the
// number of its occurrences.
struct Expected {
  struct Row {
    std::vector<double> sum = std::vector<double>(kDim);
    int64_t count = 0;
  };
  std::map<std::pair<std::string, int64_t>, Row> rows;

  void add(const std::string& table, int64_t id, double coefficient, const float* gradient) {
    Row& row = rows[{table, id}];
    for (int64_t c = 0; c < kDim; ++c) row.sum[c] += coefficient * gradient[c];
    ++row.count;
  }
};

// Runs steps of three micro-batches of random lists, the last without a backward pass, at SGD of
// rate 1, and compares every row with the plain model after each.
class DuplicateGradientsTest
    : public testing::TestWithParam<std::tuple<SparseOptimizerConfig::DuplicateGradients,
                                               SparseOptimizerConfig::DuplicateGradients, bool>> {
 protected:
  void SetUp() override {
    const auto [common, own, weighted] = GetParam();
    options_ = make_options(own);
    weighted_ = weighted;
    ASSERT_OK_AND_ASSIGN(collection_, EmbeddingCollection::create(options_));
    SparseOptimizerConfig config;
    config.set_learning_rate(1);
    config.mutable_sgd();
    config.set_duplicate_gradients(common);
    ASSERT_OK_AND_ASSIGN(optimizer_, SparseOptimizer::create(config, {collection_.get()}));
  }

  KeyedJagged make_lists() {
    std::vector<int64_t> ids, offsets = {0};
    for (size_t list = 0; list < options_.features.size() * kBatch; ++list) {
      for (uint32_t i = random_() % 4; i > 0; --i) {
        ids.push_back(static_cast<int64_t>(random_() % 6));
      }
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    KeyedJagged lists = {
        torch::tensor(ids, torch::kLong), torch::tensor(offsets, torch::kLong), {}};
    if (weighted_) lists.weights = torch::rand({lists.values.numel()}) + 0.5;
    return lists;
  }

  // Adds the gradient of one feature, [batch or ids, columns].
  void expect_of_feature(size_t f, const KeyedJagged& lists, const at::Tensor& gradient) {
    const EmbeddingFeature& feature = options_.features[f];
    const int64_t* offsets = lists.offsets.const_data_ptr<int64_t>() + f * kBatch;
    for (int64_t e = 0; e < kBatch; ++e) {
      const int64_t begin = offsets[e];
      int64_t count = offsets[e + 1] - begin;
      if (feature.max_ids > 0) count = std::min(count, feature.max_ids);
      for (int64_t i = 0; i < count; ++i) {
        double coefficient = 1;
        int64_t row = e, column = 0;
        if (feature.pooling == FIRST_N) {
          column = i * kDim;
        } else if (feature.pooling == NONE) {
          row = begin + i - offsets[0];
        } else {
          if (weighted_) coefficient = lists.weights[begin + i].item<float>();
          if (feature.pooling == MEAN) coefficient /= static_cast<double>(count);
          if (feature.pooling == SQUARE_ROOT_N) {
            coefficient /= std::sqrt(static_cast<double>(count));
          }
        }
        const at::Tensor part = gradient[row].narrow(0, column, kDim).contiguous();
        expected_.add(feature.table, lists.values[begin + i].item<int64_t>(), coefficient,
                      part.const_data_ptr<float>());
      }
    }
  }

  void run_micro_batch(bool backward) {
    const KeyedJagged lists = make_lists();
    ASSERT_OK_AND_ASSIGN(const EmbeddingOutput output, collection_->forward(lists));
    at::Tensor loss = torch::zeros({});
    for (size_t f = 0; f < options_.features.size(); ++f) {
      const std::string& name = options_.features[f].name;
      at::Tensor rows =
          output.places()[f].unpooled < 0 ? *output.feature(name) : output.jagged(name)->rows;
      const at::Tensor gradient =
          backward ? torch::randn(rows.sizes()) : torch::zeros(rows.sizes());
      expect_of_feature(f, lists, gradient);
      loss = loss + (rows * gradient).sum();
    }
    if (backward) loss.backward();
  }

  std::vector<float> row(int table, int64_t id) const {
    RowIndex found;
    const EmbeddingTable& from = *collection_->tables()[table];
    from.find({&id, 1}, {&found, 1});
    if (found == kNoRow) return {};
    return {from.content().rows().weights(found), from.content().rows().weights(found) + kDim};
  }

  std::mt19937 random_{7};
  EmbeddingCollectionOptions options_;
  bool weighted_ = false;
  std::shared_ptr<EmbeddingCollection> collection_;
  std::unique_ptr<SparseOptimizer> optimizer_;
  Expected expected_;
};

TEST_P(DuplicateGradientsTest, AgreesWithAPlainModel) {
  const auto [common, own, weighted] = GetParam();
  torch::manual_seed(3);
  std::map<std::pair<std::string, int64_t>, std::vector<double>> weights;
  Progress progress;
  for (; progress.step < 4; ++progress.step) {
    expected_ = Expected();
    for (const bool backward : {true, true, false}) run_micro_batch(backward);
    double squares = 0;
    for (auto& [key, row] : expected_.rows) {
      const bool mean = (key.first == "own" ? own : common) == SparseOptimizerConfig::MEAN;
      std::vector<double>& now = weights.try_emplace(key, kDim).first->second;
      for (int64_t c = 0; c < kDim; ++c) {
        const double gradient = row.sum[c] / (mean ? static_cast<double>(row.count) : 1);
        squares += gradient * gradient;
        now[c] -= 0.5 * gradient;
      }
    }
    // Clipping must see the gradients that the update applies.
    const GradientSummary summary = optimizer_->summarize(/*with_norm=*/true);
    EXPECT_TRUE(summary.finite);
    EXPECT_NEAR(summary.norm_squared, squares, 1e-5 * squares);
    ASSERT_OK(optimizer_->step(progress, /*gradient_scale=*/0.5));
    for (const auto& [key, values] : weights) {
      const std::vector<float> now = row(key.first == "own" ? 1 : 0, key.second);
      ASSERT_EQ(now.size(), kDim);
      for (int64_t c = 0; c < kDim; ++c) {
        EXPECT_NEAR(now[c], values[c], 2e-6) << key.first << " " << key.second;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DuplicateGradientsTest,
    testing::Combine(testing::Values(SparseOptimizerConfig::SUM, SparseOptimizerConfig::MEAN),
                     testing::Values(SparseOptimizerConfig::SUM, SparseOptimizerConfig::MEAN),
                     testing::Bool()));

}  // namespace
}  // namespace millrace
