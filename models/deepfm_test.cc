#include "models/deepfm.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/status_matchers.h"
#include "models/model_conformance.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ModelConfig small_config() {
  ModelConfig config;
  config.set_name("deepfm");
  config.MutableExtension(deepfm)->add_hidden(6);
  config.MutableExtension(deepfm)->add_hidden(5);
  return config;
}

// Computes the formula of deepfm.h pair by pair; tables have 4 + 1 columns.
double plain_logit(const Model& model, const at::Tensor& pooled, const Batch& batch, int64_t e) {
  constexpr int kSparse = 3, kDense = 2, kDim = 4;
  const auto v = [&](int feature, int column) {
    return pooled[e][feature * (kDim + 1) + column].item<double>();
  };
  std::vector<double> x;
  for (int d = 0; d < kDense; ++d) x.push_back(batch.dense[e][d].item<double>());
  double logit = plain_linear(model, "linear", x, false)[0];
  for (int f = 0; f < kSparse; ++f) {
    logit += v(f, kDim);
    for (int g = 0; g < f; ++g) {
      for (int c = 0; c < kDim; ++c) logit += v(f, c) * v(g, c);
    }
    for (int c = 0; c < kDim; ++c) x.push_back(v(f, c));
  }
  x = plain_linear(model, "mlp.0", x, true);
  x = plain_linear(model, "mlp.2", x, true);
  return logit + plain_linear(model, "mlp.4", x, false)[0];
}

[[maybe_unused]] const bool kDeepFm = register_model_conformance(
    "DeepFm", {.config = small_config, .pooled_dim = 5, .plain_logit = plain_logit});

TEST(DeepFmTest, WorksWithoutDenseFeatures) {
  ASSERT_OK_AND_ASSIGN(const auto model,
                       make_test_model(small_config(), model_test_config(2, 0, 4)));
  EXPECT_FALSE(model->named_parameters().contains("linear.weight"));
  ASSERT_OK_AND_ASSIGN(ModelOutput output, model->forward(model_test_batch(1, 4, 2, 0)));
  EXPECT_TRUE(std::isfinite(output.loss.item<double>()));
}

// Vectors of the configured dim can be loaded; the first-order weight then has its initial value.
TEST(DeepFmTest, TablesSayWhichColumnTheModelAdds) {
  ASSERT_OK_AND_ASSIGN(const auto model,
                       make_test_model(small_config(), model_test_config(2, 0, 4)));
  int64_t tables = 0;
  for (const auto& child : model->children()) {
    const auto* collection = child->as<EmbeddingCollection>();
    if (collection == nullptr) continue;
    for (const auto& table : collection->tables()) {
      EXPECT_EQ(table->dim(), 5);
      EXPECT_EQ(table->added_columns(), 1);
      ++tables;
    }
  }
  EXPECT_GT(tables, 0);
}

TEST(DeepFmTest, AColumnOfEveryTableForEachLabel) {
  TrainConfig job = model_test_config(2, 0, 4);
  add_test_label(job);
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(small_config(), job));
  int64_t tables = 0;
  for (const auto& child : model->children()) {
    const auto* collection = child->as<EmbeddingCollection>();
    if (collection == nullptr) continue;
    for (const auto& table : collection->tables()) {
      EXPECT_EQ(table->dim(), 6);
      EXPECT_EQ(table->added_columns(), 2);
      ++tables;
    }
  }
  EXPECT_GT(tables, 0);
  for (TableConfig& table : *job.mutable_table()) table.set_dim(4095);
  EXPECT_THAT(make_test_model(small_config(), job),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("deepfm takes at most 4094, since it adds a column for each")));
}

TEST(DeepFmTest, DefaultLayers) {
  ModelConfig config;
  config.set_name("deepfm");
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, model_test_config(2, 3, 8)));
  EXPECT_EQ(parameter(*model, "mlp.0.weight").sizes(), at::IntArrayRef({400, 3 + 2 * 8}));
  EXPECT_EQ(parameter(*model, "mlp.2.weight").sizes(), at::IntArrayRef({400, 400}));
  EXPECT_EQ(parameter(*model, "mlp.4.weight").sizes(), at::IntArrayRef({400, 400}));
  EXPECT_EQ(parameter(*model, "mlp.6.weight").sizes(), at::IntArrayRef({1, 400}));
}

TEST(DeepFmTest, DropsOutInTrainingOnly) {
  ModelConfig config = small_config();
  config.MutableExtension(deepfm)->set_dropout(0.5);
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, model_test_config(3, 2, 4)));
  const Batch batch = model_test_batch(1, 64, 3, 2);
  const auto predict = [&] { return model->forward(batch)->predictions; };
  EXPECT_FALSE(at::equal(predict(), predict()));
  at::manual_seed(5);
  const at::Tensor seeded = predict();
  at::manual_seed(5);
  EXPECT_TRUE(at::equal(predict(), seeded));
  model->eval();
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(at::equal(predict(), predict()));
}

TEST(DeepFmTest, ConfigurationOutOfRangeIsNamed) {
  const auto refused = [](auto change, const std::string& what) {
    ModelConfig config = small_config();
    change(*config.MutableExtension(deepfm));
    EXPECT_THAT(make_test_model(config, model_test_config(3, 2, 4)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("model \"deepfm\""), HasSubstr(what))));
  };
  refused([](DeepFmConfig& c) { c.add_hidden(0); }, "hidden[2] is 0; must be 1 to 65536");
  refused([](DeepFmConfig& c) { c.set_dropout(1); },
          "dropout is 1; must be at least 0 and below 1");
  refused([](DeepFmConfig& c) { c.set_dropout(-0.1); }, "dropout is -0.1");
  refused([](DeepFmConfig& c) { c.set_dropout(std::nan("")); }, "dropout is nan");
}

TEST(DeepFmTest, UnequalTablesAreNamed) {
  TrainConfig job = model_test_config(3, 2, 4);
  job.mutable_table(2)->set_dim(8);
  EXPECT_THAT(make_test_model(small_config(), job),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"s0\" has dim 4"), HasSubstr("\"s2\" has dim 8"))));
}

TEST(DeepFmTest, TheWidestTableLeavesNoRoomForItsColumn) {
  TrainConfig job = model_test_config(3, 2, 4);
  for (TableConfig& table : *job.mutable_table()) table.set_dim(4096);
  EXPECT_THAT(make_test_model(small_config(), job),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("dim is 4096; deepfm takes at most 4095")));
}

TEST(DeepFmTest, MessageOfAnotherModelIsRefused) {
  ModelConfig config = small_config();
  config.MutableExtension(dlrm);
  EXPECT_THAT(make_test_model(config, model_test_config(3, 2, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("[millrace.dlrm]"), HasSubstr("[millrace.deepfm]"))));
}

}  // namespace
}  // namespace millrace
