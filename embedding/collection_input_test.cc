#include "embedding/collection_input.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Features a (table t) and b (table u) with two examples. Feature a has the lists [1, 2, 3] and [];
// b has [4] and [5, 6].
class CollectionInputTest : public testing::Test {
 protected:
  CollectionInputTest() {
    options_.features = {{"a", "t", SUM}, {"b", "u", NONE}};
    features_.values = at::arange(1, 7, at::kLong);
    const int64_t offsets[] = {0, 3, 3, 4, 6};
    features_.offsets = at::empty({5}, at::kLong);
    std::copy_n(offsets, 5, features_.offsets.mutable_data_ptr<int64_t>());
  }
  void refused(const char* message) const {
    EXPECT_THAT(checked_input(features_, options_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }

  EmbeddingCollectionOptions options_;
  KeyedJagged features_;
};

TEST_F(CollectionInputTest, TakesGoodInputAsItIs) {
  ASSERT_OK_AND_ASSIGN(const CheckedInput input, checked_input(features_, options_));
  EXPECT_EQ(input.batch, 2);
  EXPECT_TRUE(input.features.values.is_same(features_.values));
  EXPECT_TRUE(input.features.offsets.is_same(features_.offsets));
  EXPECT_FALSE(input.features.weights.defined());
  // An empty batch.
  features_ = {at::empty({0}, at::kLong), at::zeros({1}, at::kLong), at::Tensor()};
  ASSERT_OK_AND_ASSIGN(const CheckedInput nothing, checked_input(features_, options_));
  EXPECT_EQ(nothing.batch, 0);
  EXPECT_THAT(nothing.one_id_each, ElementsAre(1, 1));
}

TEST_F(CollectionInputTest, LooksAtFeaturesInAnyOrder) {
  const auto backwards = [](int64_t count, const std::function<void(int64_t)>& body) {
    for (int64_t i = count; i-- > 0;) body(i);
  };
  features_.offsets = at::tensor({0, 1, 2, 4, 6}, at::kLong);
  ASSERT_OK_AND_ASSIGN(const CheckedInput input, checked_input(features_, options_, backwards));
  EXPECT_THAT(input.one_id_each, ElementsAre(1, 0));
  features_.offsets = at::tensor({0, 1, 2, 1, 6}, at::kLong);
  EXPECT_THAT(checked_input(features_, options_, backwards),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("feature b of table u, example 0: offsets go from 2 to 1")));
}

TEST_F(CollectionInputTest, CutsLists) {
  options_.features[0].max_ids = 2;
  options_.features[1].max_ids = 1;
  features_.weights = at::arange(6, at::kFloat);
  ASSERT_OK_AND_ASSIGN(const CheckedInput input, checked_input(features_, options_));
  const auto text = [](const at::Tensor& tensor) {
    std::string result;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      result += std::to_string(tensor[i].item<int64_t>()) + " ";
    }
    return result;
  };
  EXPECT_EQ(text(input.features.values), "1 2 4 5 ");
  EXPECT_EQ(text(input.features.offsets), "0 2 2 3 4 ");
  EXPECT_EQ(text(input.features.weights), "0 1 3 4 ");
}

TEST_F(CollectionInputTest, TellsFeaturesOfOneIdAList) {
  const auto one_id_each = [&](std::initializer_list<int64_t> offsets) {
    std::copy(offsets.begin(), offsets.end(), features_.offsets.mutable_data_ptr<int64_t>());
    absl::StatusOr<CheckedInput> input = checked_input(features_, options_);
    EXPECT_OK(input);
    return input.ok() ? input->one_id_each : std::vector<char>();
  };
  EXPECT_THAT(one_id_each({0, 3, 3, 4, 6}), ElementsAre(0, 0));
  EXPECT_THAT(one_id_each({0, 1, 2, 4, 6}), ElementsAre(1, 0));
  EXPECT_THAT(one_id_each({0, 4, 4, 5, 6}), ElementsAre(0, 1));
  EXPECT_THAT(one_id_each({0, 2, 2, 4, 6}), ElementsAre(0, 0));
  // max_ids applies before one_id_each.
  options_.features[1].max_ids = 1;
  EXPECT_THAT(one_id_each({0, 2, 2, 4, 6}), ElementsAre(0, 1));
  EXPECT_THAT(one_id_each({0, 1, 2, 2, 6}), ElementsAre(1, 0));
  features_.values = at::arange(4);
  EXPECT_THAT(one_id_each({0, 1, 2, 3, 4}), ElementsAre(1, 1));
}

TEST_F(CollectionInputTest, RefusesOtherTypesAndShapes) {
  const KeyedJagged good = features_;
  features_ = KeyedJagged();
  refused(
      "ids of features a, b of tables t, u must be an int64 vector on the CPU, not an undefined "
      "tensor");
  features_ = good;
  features_.values = good.values.to(at::kInt);
  refused("ids of features a, b of tables t, u must be an int64 vector on the CPU, not Int [6]");
  features_.values = good.values.to(at::kDouble);
  refused("not Double [6]");
  features_.values = good.values.view({1, -1});
  refused("not Long [1, 6]");
  features_ = good;
  features_.offsets = good.offsets.to(at::kInt);
  refused(
      "offsets of features a, b of tables t, u must be an int64 vector on the CPU, not Int [5]");
  features_ = good;
  features_.weights = at::ones({3});
  refused(
      "weights of ids of features a, b of tables t, u must be Float [6], one for each id, not "
      "Float [3]");
  features_.weights = at::ones({6}, at::kDouble);
  refused("not Double [6]");
}

TEST_F(CollectionInputTest, RefusesOffsetsThatDoNotFit) {
  const at::Tensor good = features_.offsets;
  const auto with = [&](int64_t at, int64_t offset) {
    features_.offsets = good.clone();
    features_.offsets[at] = offset;
  };
  features_.offsets = good.slice(0, 0, 4);
  refused("offsets of features a, b of tables t, u have 4 numbers: not features × batch + 1");
  features_.offsets = good.slice(0, 0, 0);
  refused("have 0 numbers");
  with(0, 1);
  refused(
      "offsets of features a, b of tables t, u go from 1 to 6, not from 0 to 6, the number of ids");
  with(4, 5);
  refused("go from 0 to 5, not from 0 to 6");
  with(4, 7);
  refused("feature b of table u, example 1: offsets go from 4 to 7, but there are 6 ids");
  with(1, 1 << 30);
  refused("feature a of table t, example 0: offsets go from 0 to 1073741824, but there are 6 ids");
  with(3, 2);
  refused("feature b of table u, example 0: offsets go from 3 to 2: they decrease");
  with(1, -1);
  refused("feature a of table t, example 0: offsets go from 0 to -1: they decrease");
  // The 64-bit differences of these offsets wrap around to non-negative numbers.
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const int64_t wrapping[] = {0, 1, kLeast, -1, 6};
  std::copy_n(wrapping, 5, features_.offsets.mutable_data_ptr<int64_t>());
  refused("feature a of table t, example 1: offsets go from 1 to -9223372036854775808");
  with(0, kLeast);
  refused("of tables t, u go from -9223372036854775808 to 6");
  with(2, std::numeric_limits<int64_t>::max());
  refused("feature a of table t, example 1: offsets go from 3 to 9223372036854775807, but");
}

TEST_F(CollectionInputTest, ListsTheFirstFeatures) {
  options_.features.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    options_.features.push_back({name, "t", SUM});
  }
  features_.values = at::Tensor();
  refused("of features a, b, c, d, e, f, g, h, ... of table t must");
}

}  // namespace
}  // namespace millrace
