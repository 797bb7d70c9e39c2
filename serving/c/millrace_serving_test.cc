#include "serving/c/millrace_serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

using ::testing::HasSubstr;

class CTest : public testing::Test {
 protected:
  const std::unique_ptr<millrace_request, void (*)(millrace_request*)> request_{
      millrace_request_new(), &millrace_request_free};
};

TEST_F(CTest, WhatCannotBeOpenedIsNamed) {
  millrace_predictor* predictor = nullptr;
  EXPECT_NE(millrace_open("/nowhere/at/all", 1, 1, &predictor), 0);
  EXPECT_THAT(millrace_error(), HasSubstr("/nowhere/at/all"));
  EXPECT_NE(millrace_open("/", 0, 1, &predictor), 0);
  EXPECT_THAT(millrace_error(), HasSubstr("workers"));
  EXPECT_NE(millrace_open(nullptr, 1, 1, &predictor), 0);
  EXPECT_EQ(predictor, nullptr);
  millrace_close(nullptr);
  EXPECT_NE(millrace_follow(nullptr, nullptr), 0);
}

TEST_F(CTest, WrongColumnsAreErrors) {
  const int64_t ids[] = {1, 2, 3}, lengths[] = {2, 1}, longer[] = {2, 2}, negative[] = {4, -1};
  const double numbers[] = {1, 2};
  const char* const texts[] = {"a", nullptr};
  EXPECT_EQ(millrace_add_integers(request_.get(), "a", ids, 3, lengths, 2), 0);
  EXPECT_EQ(millrace_add_integers(request_.get(), "a", ids, 3, nullptr, 0), 0) << "replaces it";
  EXPECT_EQ(millrace_add_integers(request_.get(), "a", nullptr, 0, nullptr, 0), 0) << "no rows";
  EXPECT_EQ(millrace_add_numbers(request_.get(), "x", numbers, 2, nullptr, 2), 0);
  EXPECT_NE(millrace_add_numbers(request_.get(), "x", numbers, 2, nullptr, 3), 0);
  EXPECT_NE(millrace_add_numbers(request_.get(), nullptr, numbers, 2, nullptr, 2), 0);
  EXPECT_NE(millrace_add_numbers(nullptr, "x", numbers, 2, nullptr, 2), 0);
  EXPECT_NE(millrace_add_integers(request_.get(), "a", ids, -1, nullptr, 0), 0);
  for (const int64_t* wrong : {longer, negative}) {
    EXPECT_NE(millrace_add_integers(request_.get(), "a", ids, 3, wrong, 2), 0);
    EXPECT_THAT(millrace_error(), HasSubstr("column \"a\": the lengths exceed its 3 values"));
  }
  EXPECT_NE(millrace_add_texts(request_.get(), "t", texts, 2, nullptr, 2), 0);
  EXPECT_THAT(millrace_error(), HasSubstr("NULL text"));
  float predictions[1];
  EXPECT_NE(millrace_predict(nullptr, request_.get(), predictions, 1, nullptr), 0);
}

}  // namespace
