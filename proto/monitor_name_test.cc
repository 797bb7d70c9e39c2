#include "proto/monitor_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(MonitorNameTest, HasASetAndAMetric) {
  EXPECT_TRUE(names_metric("eval/auc"));
  EXPECT_TRUE(names_metric("eval/click/auc"));
  for (const char* other : {"", "auc", "/auc", "eval/", "eval//auc"}) {
    EXPECT_FALSE(names_metric(other)) << other;
  }
}

TEST(MonitorNameTest, TheSetEndsBeforeTheFirstSlash) {
  EXPECT_EQ(set_of_monitor("eval/auc"), "eval");
  EXPECT_EQ(set_of_monitor("eval/click/auc"), "eval");
  EXPECT_EQ(set_of_monitor("eval"), "eval");
  EXPECT_EQ(set_of_monitor(""), "");
}

TEST(MonitorNameTest, TheCheckNamesPlaceAndForm) {
  EXPECT_OK(check_monitor_name("here", "train/loss"));
  EXPECT_THAT(check_monitor_name("here", "").message(), HasSubstr("here: monitor is missing"));
  EXPECT_THAT(check_monitor_name("here", "auc").message(), HasSubstr("monitor is \"auc\""));
}

}  // namespace
}  // namespace millrace
