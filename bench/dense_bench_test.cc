#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "bench/benchmark.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRows = 50;

class DenseBenchTest : public testing::Test {
 protected:
  // A small DLRM on a file of kRows rows, whose last batch of 16 has 2.
  void SetUp() override {
    const std::string data = testing::TempDir() + "/dense.csv";
    std::string rows = "label,d,a,b\n";
    for (int i = 0; i < kRows; ++i) {
      absl::StrAppend(&rows, i % 2, ",", 0.1 * i, ",", i % 7, ",", i % 5, "\n");
    }
    ASSERT_OK(write_file_atomically(FileSystem::local(), data, rows));
    flags_.config = testing::TempDir() + "/dense.textproto";
    ASSERT_OK(write_file_atomically(FileSystem::local(), flags_.config,
                                    absl::StrCat(R"(train {
          train_data { path: ")",
                                                 data, R"(" batch_size: 16 }
          feature { name: "label" kind: LABEL }
          feature { name: "d" kind: DENSE }
          feature { name: "a" }
          feature { name: "b" }
          table { name: "a" dim: 4 }
          table { name: "b" dim: 4 }
          model { name: "dlrm" [millrace.dlrm] { bottom: [8] top: [6] } }
          hooks { name: "no_such_hook" }
          max_steps: 3
        })")));
    flags_.repeats = 2;
    flags_.steps = 3;
    flags_.threads = 1;
  }

  std::map<std::string, Measurement> measure() {
    std::map<std::string, Measurement> measured;
    EXPECT_OK(bench_dense(flags_, [&](const Measurement& each) {
      names_.push_back(each.name);
      measured[each.name] = each;
    }));
    return measured;
  }
  void expect_refused(const char* text) {
    EXPECT_THAT(bench_dense(flags_, [](const Measurement&) { FAIL() << "measured"; }),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }

  BenchmarkFlags flags_;
  std::vector<std::string> names_;
};

TEST_F(DenseBenchTest, MeasuresStepsPhasesAndProducts) {
  std::map<std::string, Measurement> measured = measure();
  EXPECT_THAT(names_, ElementsAre("dense/examples_per_second", "dense/step",
                                  "dense/matrix_products", "dense/matrix_product_share",
                                  "dense/matrix_product_speed", "dense/forward", "dense/backward",
                                  "dense/update", "dense/rest", "dense/foreign", "dense/stolen"));
  for (const auto& [name, each] : measured) {
    ASSERT_EQ(each.values.size(), 2) << name;
    EXPECT_EQ(each.parameters.at("batch"), "16") << name;
    EXPECT_EQ(each.parameters.at("compute"), "float32") << name;
    EXPECT_EQ(each.parameters.at("threads"), "1") << name;
  }
  for (int i = 0; i < 2; ++i) {
    const auto value = [&](const char* name) {
      return measured.at(absl::StrCat("dense/", name)).values[i];
    };
    EXPECT_NEAR(value("examples_per_second") * value("step") / 1e3, 16, 1e-6);
    EXPECT_NEAR(value("forward") + value("backward") + value("update") + value("rest"),
                value("step"), 1e-9);
    EXPECT_GT(value("forward"), 0);
    EXPECT_GT(value("backward"), 0);
    EXPECT_GT(value("update"), 0);
    EXPECT_GT(value("rest"), 0);
    EXPECT_GT(value("matrix_products"), 0);
    EXPECT_NEAR(value("matrix_product_share"), value("matrix_products") / value("step"), 1e-9);
  }
}

// Computes the operations of the products of one step: with batch B the layers [1, 8], [8, 4], [7,
// 6] and [6, 1], three products each, except the first, whose input needs no gradient, and the dot
// products of three vectors of 4, three products of each example.
TEST_F(DenseBenchTest, CountsTheOperationsOfAllProducts) {
  std::map<std::string, Measurement> measured = measure();
  const double per_example = 2 * (2 * 1 * 8 + 3 * (8 * 4 + 7 * 6 + 6 * 1) + 3 * 3 * 3 * 4);
  for (int i = 0; i < 2; ++i) {
    const double operations = measured.at("dense/matrix_product_speed").values[i] * 1e9 *
                              measured.at("dense/matrix_products").values[i] / 1e3;
    EXPECT_NEAR(operations, 16 * per_example, 1e-3);
  }
}

TEST_F(DenseBenchTest, FlagsChangeTheJob) {
  flags_.dense.batch = 10;
  flags_.dense.compute = "bfloat16";
  flags_.set = {"train.micro_batches=2"};
  std::map<std::string, Measurement> measured = measure();
  EXPECT_EQ(measured.at("dense/step").parameters.at("batch"), "20");
  EXPECT_EQ(measured.at("dense/step").parameters.at("compute"), "bfloat16");
}

TEST_F(DenseBenchTest, AGlobalBatchSizeIsWhatTheFlagChanges) {
  flags_.set = {"train.train_data.batch_size=512", "train.global_batch_size=40",
                "train.max_micro_batch_size=10"};
  flags_.dense.batch = 20;
  EXPECT_EQ(measure().at("dense/step").parameters.at("batch"), "20");
}

TEST_F(DenseBenchTest, WhatCannotBeMeasuredIsRefused) {
  flags_.dense.batch = 51;
  expect_refused("train.train_data: the data has 50 examples; a batch needs 51");
  flags_.dense.batch = -1;
  expect_refused("--batch is -1");
  flags_.dense.batch = 0;
  flags_.dense.compute = "bfloat";
  expect_refused("--compute");
  flags_.dense.compute = "";
  flags_.set = {"train.train_data.windows={}"};
  expect_refused("train_data has windows");
  flags_.config = "";
  expect_refused("--config");
}

}  // namespace
}  // namespace millrace
