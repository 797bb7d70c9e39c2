#include "proto/parts/kind_fields.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "proto/config.pb.h"

namespace millrace {
namespace {

using testing::ElementsAre;

TEST(KindFields, AreAllFieldsExceptCustomWithTheirComments) {
  static PartFamily family(
      "row optimizer", "sparse_optimizer { custom { name: \"NAME\" } }",
      kind_fields(*SparseOptimizerConfig::descriptor()->FindOneofByName("kind")));
  EXPECT_THAT(family.names(),
              ElementsAre("adagrad", "adam", "adamw", "ftrl", "rowwise_adagrad", "sgd"));
  const std::vector<PartEntry> parts = family.parts();
  EXPECT_EQ(parts[1].field, "adam { … }");
  EXPECT_EQ(parts[1].description, "the default");
}

}  // namespace
}  // namespace millrace
