#include "optim/dense/dense_optimizer_table.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

TEST(DenseOptimizerTableTest, HasEachKindOnce) {
  std::multiset<int> members, kinds;
  for (const DenseOptimizerMember& member : dense_optimizer_table()) {
    EXPECT_NE(member.create, nullptr);
    members.insert(member.kind);
  }
  const auto* kind = DenseOptimizerConfig::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kind->field_count(); ++i) kinds.insert(kind->field(i)->number());
  EXPECT_EQ(members, kinds);
}

}  // namespace
}  // namespace millrace
