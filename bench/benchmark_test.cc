#include "bench/benchmark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

TEST(Measurement, PrintsMedianAndBest) {
  const auto odd = nlohmann::json::parse(
      to_json_line({"x", {{"batch", "8"}}, "s", /*higher_is_better=*/false, {3, 1, 2}}));
  EXPECT_EQ(odd["name"], "x");
  EXPECT_EQ(odd["batch"], "8");
  EXPECT_EQ(odd["unit"], "s");
  EXPECT_EQ(odd["median"], 2);
  EXPECT_EQ(odd["best"], 1);
  EXPECT_EQ(odd["repeats"], 3);
  const auto even = nlohmann::json::parse(
      to_json_line({"x", {}, "1/s", /*higher_is_better=*/true, {4, 1, 2, 3}}));
  EXPECT_EQ(even["median"], 2.5);
  EXPECT_EQ(even["best"], 4);
}

}  // namespace
}  // namespace millrace
