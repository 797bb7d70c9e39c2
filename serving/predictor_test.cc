#include "serving/predictor.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kIds = 500;
constexpr float kFails = 1e9;  // a value for which the model fails

// Predicts the sum of the rows of an example and of a parameter: exact for integers in any batch.
class SumModel : public Model {
 public:
  explicit SumModel(std::shared_ptr<EmbeddingCollection> embeddings)
      : embeddings_(register_module("embeddings", std::move(embeddings))),
        bias_(register_parameter("bias", at::zeros({1}))) {}
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    if (batch.dense.defined() && batch.dense.max().item<float>() == kFails) {
      return absl::InternalError("the model fails");
    }
    ASSIGN_OR_RETURN(const EmbeddingOutput output, embeddings_->forward(batch.sparse));
    at::Tensor sums = output.pooled.sum(1, /*keepdim=*/true) + bias_;
    if (batch.dense.defined()) sums = sums + batch.dense.sum(1, /*keepdim=*/true);
    ModelOutput result;
    result.loss = sums.sum();
    result.predictions = sums;
    return result;
  }

 private:
  std::shared_ptr<EmbeddingCollection> embeddings_;
  at::Tensor bias_;
};

absl::StatusOr<std::shared_ptr<Model>> make_sum(const ModelConfig&,
                                                const ModelResources& resources) {
  ASSIGN_OR_RETURN(auto embeddings, EmbeddingCollection::create(resources.embeddings));
  return std::shared_ptr<Model>(new SumModel(std::move(embeddings)));
}
MILLRACE_REGISTER_MODEL(test_sum, "sum of rows", &make_sum);

std::shared_ptr<const TrainConfig> train_config(const std::string& more = "") {
  auto train = std::make_shared<TrainConfig>();
  EXPECT_OK(parse_text(absl::StrCat(R"(
      feature { name: "label" kind: LABEL }
      feature { name: "a" table: "a" }
      feature { name: "b" table: "b" pooling: MEAN }
      feature { name: "x" kind: DENSE transform { cast {} } }
      table { name: "a" dim: 2 }
      table { name: "b" dim: 2 }
      model { name: "test_sum" })",
                                    more),
                       "test", train.get()));
  return train;
}

// Adds rows of two columns with the value `value` to ids [begin, end).
void put(int64_t begin, int64_t end, float value, ServedTable::Parts* parts) {
  for (int64_t id = begin; id < end; ++id) {
    const float row[] = {value, value};
    ServedTable::add({&id, 1}, {reinterpret_cast<const char*>(row), sizeof(row)}, sizeof(row),
                     parts);
  }
}

std::shared_ptr<ModelVersion> first_version() {
  auto version = std::make_shared<ModelVersion>();
  version->path = "first";
  version->train = train_config();
  version->step = 1;
  version->dense["bias"] = at::zeros({1}) + 1;
  for (const char* name : {"a", "b"}) {
    ServedTable::Parts parts;
    put(0, kIds, 1, &parts);
    version->tables[name] = std::make_shared<ServedTable>(8, parts);
  }
  return version;
}

// All rows of table b, and a sixteenth of a's, change with each version; so does the parameter.
std::shared_ptr<ModelVersion> next_version(const ModelVersion& before) {
  auto version = std::make_shared<ModelVersion>(before);
  const auto value = static_cast<float>(++version->step);
  version->dense["bias"] = at::zeros({1}) + value;
  for (auto& [name, table] : version->tables) {
    ServedTable::Parts changed;
    put(0, name == "b" ? 8 : kIds / 16, value, &changed);
    table = table->with_delta(changed);
  }
  return version;
}

RequestColumns columns(int64_t rows) {
  RequestColumns columns;
  for (const char* name : {"a", "b"}) {
    Column& column = columns[name];
    column.rows = rows;
    for (int64_t row = 0; row < rows; ++row) column.int64s.push_back(row % 8);
  }
  columns["x"].type = ValueType::kDouble;
  columns["x"].rows = rows;
  columns["x"].doubles.assign(rows, 3);
  return columns;
}

// Two columns of a, two of b, the parameter, and x.
float expected(int64_t step) { return static_cast<float>(5 * step + 3); }

// MILLRACE_SERVED_VERSIONS=10000: docs/serving.md.
TEST(PredictorTest, EachAnswerIsOfOneVersionAndVersionsDoNotGoBack) {
  const char* const asked = std::getenv("MILLRACE_SERVED_VERSIONS");
  const int64_t versions = asked == nullptr ? 400 : std::stoll(asked);
  ASSERT_OK_AND_ASSIGN(auto predictor,
                       Predictor::create(first_version(), {.workers = 2, .join_rows = 40}));
  std::atomic<bool> done{false};
  std::atomic<int64_t> answers{0};
  std::vector<std::thread> clients;
  for (int64_t client = 0; client < 3; ++client) {
    clients.emplace_back([&, rows = 1 + 20 * client] {
      int64_t last = 0;
      while (!done) {
        const auto predictions = predictor->predict(columns(rows), rows);
        ASSERT_OK(predictions.status());
        ASSERT_GE(predictions->version->step, last);
        last = predictions->version->step;
        for (const float value : predictions->values) ASSERT_EQ(value, expected(last));
        ++answers;
      }
    });
  }
  std::shared_ptr<const ModelVersion> version = predictor->version();
  for (int64_t i = 0; i < versions; ++i) {
    version = next_version(*version);
    ASSERT_OK(predictor->set_version(version));
    for (int part = 0; part < ServedTable::kParts; part += 7) {
      const auto merged = merge_part(*version, (part + static_cast<int>(i)) % ServedTable::kParts);
      if (merged == nullptr) continue;
      ASSERT_OK(predictor->set_version(merged));
      version = merged;
    }
    // The clients keep up, so that each of them sees many versions.
    for (const int64_t before = answers; answers < before + 2 && !HasFailure();)
      std::this_thread::yield();
  }
  done = true;
  for (std::thread& client : clients) client.join();
  const auto predictions = predictor->predict(columns(5), 5);
  ASSERT_OK(predictions.status());
  EXPECT_EQ(predictions->values, std::vector<float>(5, expected(versions + 1)));
}

TEST(PredictorTest, RequestsAreJoined) {
  ASSERT_OK_AND_ASSIGN(
      auto predictor,
      Predictor::create(first_version(), {.join_rows = 6, .join_wait = absl::Hours(1)}));
  const auto ask = [&](int64_t rows, double x, absl::StatusOr<Predictions>* answer) {
    RequestColumns request = columns(rows);
    request["x"].doubles.assign(rows, x);
    *answer = predictor->predict(std::move(request), rows);
  };
  absl::StatusOr<Predictions> answers[3];
  // All wait until there are six rows.
  const auto ask_three = [&](double last) {
    std::vector<std::thread> clients;
    for (int i = 0; i < 3; ++i) {
      clients.emplace_back(ask, i + 1, i < 2 ? 10.0 * i : last, &answers[i]);
    }
    for (std::thread& client : clients) client.join();
  };
  ask_three(20);
  EXPECT_EQ(predictor->batches(), 1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(answers[i].status());
    EXPECT_EQ(answers[i]->values, std::vector<float>(i + 1, expected(1) - 3 + 10 * i));
  }
  // One for which the model fails leaves the others their answers.
  ask_three(kFails);
  EXPECT_EQ(predictor->batches(), 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(answers[i].status());
    EXPECT_EQ(answers[i]->values, std::vector<float>(i + 1, expected(1) - 3 + 10 * i));
  }
  EXPECT_THAT(answers[2].status(), StatusIs(absl::StatusCode::kInternal, HasSubstr("fails")));
  // A request of more rows waits for none.
  ask(7, 0, &answers[0]);
  ASSERT_OK(answers[0].status());
  EXPECT_EQ(answers[0]->rows, 7);
}

TEST(PredictorTest, TextAndNumbersAreAsInTraining) {
  auto version = first_version();
  version->text_columns = {{"a", true}, {"b", false}};
  ASSERT_OK_AND_ASSIGN(auto predictor, Predictor::create(version, {}));
  EXPECT_TRUE(predictor->features()[0].is_text);
  EXPECT_FALSE(predictor->features()[1].is_text);
  EXPECT_THAT(predictor->predict(columns(2), 2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column \"a\" has integers, but training made ids of text")));
  // Another version may say otherwise.
  auto next = next_version(*version);
  next->text_columns = {{"a", false}, {"b", false}};
  ASSERT_OK(predictor->set_version(next));
  EXPECT_OK(predictor->predict(columns(2), 2).status());
  RequestColumns request = columns(1);
  request["b"].type = ValueType::kString;
  request["b"].strings.push_back("7");
  EXPECT_THAT(predictor->predict(std::move(request), 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column \"b\" has text, but training made ids of numbers")));
}

TEST(PredictorTest, AVersionThatDoesNotFitIsRefusedAndTheOldOneServed) {
  ASSERT_OK_AND_ASSIGN(auto predictor, Predictor::create(first_version(), {}));
  const auto refused = [&](const std::function<void(ModelVersion&)>& change,
                           const std::string& why) {
    auto version = next_version(*first_version());
    version->path = "next";
    change(*version);
    EXPECT_THAT(predictor->set_version(version),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
    EXPECT_EQ(predictor->predict(columns(1), 1)->values[0], expected(1));
  };
  refused([](ModelVersion& version) { version.train = train_config(" seed: 9"); },
          "next has another model than first");
  refused([](ModelVersion& version) { version.dense.clear(); }, "next lacks the tensor bias");
  refused([](ModelVersion& version) { version.dense["bias"] = at::zeros({2}); },
          "bias has another shape or type");
  refused([](ModelVersion& version) { version.tables.erase("b"); }, "lacks table b");
  refused(
      [](ModelVersion& version) {
        version.tables["a"] = std::make_shared<ServedTable>(12, ServedTable::Parts());
      },
      "lacks table a, or has it with other rows");
}

TEST(PredictorTest, WhatARequestLacksIsNamed) {
  ASSERT_OK_AND_ASSIGN(auto predictor, Predictor::create(first_version(), {.max_rows = 10}));
  const auto refused = [&](const std::function<void(RequestColumns&)>& change,
                           const std::string& why) {
    RequestColumns request = columns(2);
    change(request);
    EXPECT_THAT(predictor->predict(std::move(request), 2).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused([](RequestColumns& request) { request.erase("b"); }, "feature \"b\" needs the column");
  refused(
      [](RequestColumns& request) {
        // With separators in the name of one column, it would look like three.
        const Column one = request["a"];
        request.clear();
        request["a\n0\nb\n0\nx"] = one;
        request["1:a01:b0"] = one;
      },
      "no feature has a column");
  refused([](RequestColumns& request) { request["bb"] = request["b"]; }, "did you mean \"b\"");
  refused([](RequestColumns& request) { request["b"].rows = 1; }, "has 1 rows, not 2");
  refused([](RequestColumns& request) { request["a"].type = ValueType::kString; }, "\"a\"");
  refused([](RequestColumns& request) { request["x"].doubles[1] = 0.0 / 0.0; }, "row 1, column x");
  EXPECT_THAT(predictor->predict(columns(11), 11).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 10")));
  EXPECT_THAT(predictor->predict({}, 0).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
