#include "framework/ranks/gradient_buckets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

at::Tensor parameter(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return at::zeros(sizes, at::TensorOptions(type)).requires_grad_(true);
}

// Returns the parameters of a rank. "both" has a gradient of rank + 1 everywhere, "first" only on
// rank 0, "none" nowhere; "double" and "half" have the types float64 and float16; "frozen" requires
// no gradient.
std::vector<NamedParameter> parameters_of_rank(int rank) {
  std::vector<NamedParameter> parameters = {
      {"both", parameter({3, 5})},
      {"first", parameter({4})},
      {"none", parameter({2})},
      {"double", parameter({7}, at::kDouble)},
      {"half", parameter({6}, at::kHalf)},
      {"frozen", at::ones({3})},
      {"last", parameter({})},
  };
  for (const size_t i : {0, 3, 4, 6}) {
    parameters[i].value.mutable_grad() = at::full_like(parameters[i].value, rank + 1);
  }
  if (rank == 0) parameters[1].value.mutable_grad() = at::full({4}, 8);
  return parameters;
}

void check_sums(int64_t max_elements) {
  const auto outcomes = run_thread_ranks(
      {.world_size = 3}, [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
        const std::vector<NamedParameter> parameters = parameters_of_rank(collectives->rank());
        GradientBuckets buckets(*collectives, parameters, max_elements);
        for (int step = 0; step < 2; ++step) {
          buckets.start(/*contribute=*/true);
          RETURN_IF_ERROR(buckets.finish());
          const double sum = step == 0 ? 6 : 18;  // 1 + 2 + 3, then three times that
          for (const size_t i : {0, 3, 4, 6}) {
            const at::Tensor gradient = parameters[i].value.grad();
            EXPECT_EQ(gradient.scalar_type(), parameters[i].value.scalar_type());
            EXPECT_EQ(gradient.sizes(), parameters[i].value.sizes());
            EXPECT_TRUE(at::equal(gradient, at::full_like(gradient, sum))) << parameters[i].name;
          }
          EXPECT_TRUE(at::equal(parameters[1].value.grad(), at::full({4}, step == 0 ? 8 : 24)))
              << "a rank without it counts as zero and gets the sum";
          EXPECT_FALSE(parameters[2].value.grad().defined())
              << "optimizers skip it, as with one rank";
          EXPECT_FALSE(parameters[5].value.grad().defined());
        }
        return absl::OkStatus();
      });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
}

TEST(GradientBuckets, SumsOverRanks) {
  for (const int64_t max_elements :
       {int64_t{1}, int64_t{6}, int64_t{20}, GradientBuckets::kMaxElements}) {
    SCOPED_TRACE(absl::StrCat("at most ", max_elements, " elements in a bucket"));
    check_sums(max_elements);
  }
}

TEST(GradientBuckets, ARankThatDoesNotContributeBringsZerosAndTakesNothing) {
  run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> collectives) {
    const std::vector<NamedParameter> parameters = parameters_of_rank(collectives->rank());
    GradientBuckets buckets(*collectives, parameters);
    buckets.start(/*contribute=*/collectives->rank() == 1);
    EXPECT_OK(buckets.finish());
    const double expected = collectives->rank() == 0 ? 1 : 2;
    EXPECT_TRUE(at::equal(parameters[0].value.grad(), at::full({3, 5}, expected)));
    return absl::OkStatus();
  });
}

TEST(GradientBuckets, FollowsParametersThatAreFrozenOnTheWay) {
  run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> collectives) {
    std::vector<NamedParameter> parameters = {{"a", parameter({2})}, {"b", parameter({3})}};
    GradientBuckets buckets(*collectives, parameters);
    for (const bool frozen : {false, true, false}) {
      parameters[0].value.mutable_grad() = at::Tensor();
      parameters[0].value.set_requires_grad(!frozen);
      parameters[1].value.mutable_grad() = at::ones({3});
      if (!frozen) parameters[0].value.mutable_grad() = at::ones({2});
      buckets.start(/*contribute=*/true);
      EXPECT_OK(buckets.finish());
      EXPECT_EQ(parameters[0].value.grad().defined(), !frozen);
      EXPECT_TRUE(at::equal(parameters[1].value.grad(), at::full({3}, 2)));
    }
    return absl::OkStatus();
  });
}

TEST(GradientBuckets, NoParametersIsNothingToDo) {
  run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> collectives) {
    GradientBuckets buckets(*collectives, {});
    buckets.start(/*contribute=*/true);
    EXPECT_OK(buckets.finish());
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace millrace
