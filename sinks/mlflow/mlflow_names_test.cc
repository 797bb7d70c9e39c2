#include "sinks/mlflow/mlflow_names.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(MlflowNamesTest, AcceptedNamesStay) {
  for (const std::string name : {"train/auc", "eval set/a-b_c.d:e", "train/table/c1/rows"}) {
    EXPECT_EQ(mlflow_name(name), name);
  }
  EXPECT_EQ(mlflow_name(std::string(250, 'x')), std::string(250, 'x'));
}

TEST(MlflowNamesTest, OtherCharactersAreReplaced) {
  EXPECT_EQ(mlflow_name("train/c=7/auc"), "train/c:7/auc");
  EXPECT_EQ(mlflow_name("größe"), "gr__e");
  EXPECT_EQ(mlflow_name("a\tb\"c\\d\ne"), "a_b_c_d_e");
  EXPECT_EQ(mlflow_name(std::string("a\0b", 3)), "a_b");
}

TEST(MlflowNamesTest, NoPartNamesAnotherFolder) {
  EXPECT_EQ(mlflow_name(""), "_");
  EXPECT_EQ(mlflow_name("train/"), "train/_");
  EXPECT_EQ(mlflow_name("/a//b/"), "_/a/_/b/_");
  EXPECT_EQ(mlflow_name("../a/./..b"), "_/a/_/..b");
}

TEST(MlflowNamesTest, LongNamesKeepApart) {
  const std::string a = mlflow_name(std::string(300, 'x')), b = mlflow_name(std::string(301, 'x'));
  EXPECT_EQ(a.size(), 250);
  EXPECT_TRUE(absl::StartsWith(a, "xxx"));
  EXPECT_NE(a, b);
}

TEST(MlflowNamesTest, EqualNamesKeepApart) {
  MlflowNames names;
  EXPECT_EQ(names.of("a_b"), "a_b");
  const std::string second = names.of("a\tb"), third = names.of("a\nb");
  EXPECT_TRUE(absl::StartsWith(second, "a_b_"));
  EXPECT_EQ((std::set<std::string>{"a_b", second, third}).size(), 3);
  EXPECT_EQ(names.of("a\tb"), second);
  EXPECT_EQ(names.of("a_b"), "a_b");
  MlflowNames others;
  EXPECT_EQ(others.of("a_b"), "a_b");
  EXPECT_EQ(others.of("a\nb"), third) << "depends on the name alone";
}

TEST(MlflowNamesTest, AHashThatIsTakenIsNotGivenAgain) {
  MlflowNames probe;
  probe.of("a_b");
  const std::string hashed = probe.of("a\tb");
  MlflowNames names;
  names.of("a_b");
  EXPECT_EQ(names.of(hashed), hashed);
  EXPECT_NE(names.of("a\tb"), hashed);
}

}  // namespace
}  // namespace millrace
