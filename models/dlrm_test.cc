#include "models/dlrm.h"

#include <ATen/ATen.h>

#include "base/status_matchers.h"
#include "models/model_conformance.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ModelConfig small_config() {
  ModelConfig config;
  config.set_name("dlrm");
  config.MutableExtension(dlrm)->add_bottom(7);
  config.MutableExtension(dlrm)->add_top(6);
  return config;
}

// Computes the formula of dlrm.h.
double plain_logit(const Model& model, const at::Tensor& pooled, const Batch& batch, int64_t e) {
  constexpr int kSparse = 3, kDense = 2, kDim = 4;
  std::vector<double> x;
  for (int d = 0; d < kDense; ++d) x.push_back(batch.dense[e][d].item<double>());
  x = plain_linear(model, "bottom.0", x, true);
  x = plain_linear(model, "bottom.2", x, true);
  std::vector<std::vector<double>> z = {x};
  for (int f = 0; f < kSparse; ++f) {
    z.emplace_back();
    for (int c = 0; c < kDim; ++c) z.back().push_back(pooled[e][f * kDim + c].item<double>());
  }
  for (size_t i = 0; i < z.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      double dot = 0;
      for (int c = 0; c < kDim; ++c) dot += z[i][c] * z[j][c];
      x.push_back(dot);
    }
  }
  x = plain_linear(model, "top.0", x, true);
  return plain_linear(model, "top.2", x, false)[0];
}

[[maybe_unused]] const bool kDlrm = register_model_conformance(
    "Dlrm", {.config = small_config, .pooled_dim = 4, .plain_logit = plain_logit});

TEST(DlrmTest, DefaultLayers) {
  ModelConfig config;
  config.set_name("dlrm");
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, model_test_config(2, 3, 8)));
  EXPECT_EQ(parameter(*model, "bottom.0.weight").sizes(), at::IntArrayRef({512, 3}));
  EXPECT_EQ(parameter(*model, "bottom.6.weight").sizes(), at::IntArrayRef({8, 64}));
  EXPECT_EQ(parameter(*model, "top.0.weight").sizes(), at::IntArrayRef({512, 8 + 3}));
  EXPECT_EQ(parameter(*model, "top.4.weight").sizes(), at::IntArrayRef({1, 256}));
}

TEST(DlrmTest, NeedsDenseFeatures) {
  EXPECT_THAT(make_test_model(small_config(), model_test_config(3, 0, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("model \"dlrm\""), HasSubstr("dense"))));
}

TEST(DlrmTest, WidthsOutOfRangeAreNamed) {
  ModelConfig config = small_config();
  config.MutableExtension(dlrm)->add_bottom(-3);
  EXPECT_THAT(make_test_model(config, model_test_config(3, 2, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bottom[1] is -3; must be 1 to 65536")));
  config = small_config();
  config.MutableExtension(dlrm)->add_top(0);
  EXPECT_THAT(make_test_model(config, model_test_config(3, 2, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("top[1] is 0")));
}

TEST(DlrmTest, MessageOfAnotherModelIsRefused) {
  ModelConfig config = small_config();
  config.MutableExtension(deepfm);
  EXPECT_THAT(make_test_model(config, model_test_config(3, 2, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[millrace.deepfm]")));
}

}  // namespace
}  // namespace millrace
