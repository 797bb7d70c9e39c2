#include "sinks/mlflow/mlflow_uploader.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "sinks/mlflow/fake_mlflow_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kLogBatch[] = "runs/log-batch";

class MlflowUploaderTest : public testing::Test {
 protected:
  void SetUp() override { restart(); }
  // Makes a new uploader, like the next process.
  void restart() {
    auto state = load_run_state(files_, "out/run.json", uri_, "e", 0);
    ASSERT_OK(state.status());
    uploader_ = std::make_unique<MlflowUploader>(files_, clock_, MlflowApi(client_),
                                                 MlflowUploaderOptions{.run_name = "name",
                                                                       .directory = "out",
                                                                       .rows_directory = "rows",
                                                                       .params = {{"a", "1"}},
                                                                       .state = *std::move(state)});
  }
  // Appends a row. `metrics`: as JSON.
  void append(int64_t step, const std::string& metrics = R"({"loss":0.5})",
              const std::string& time = "1970-01-01T00:00:00.001Z") {
    absl::StrAppend(&rows_, "{\"step\":", step, ",\"time\":\"", time, "\",\"metrics\":", metrics,
                    "}\n");
    files_.put("rows/train.jsonl", rows_);
  }
  void upload_all() {
    for (;;) {
      const absl::StatusOr<bool> more = uploader_->upload();
      ASSERT_OK(more.status());
      if (!*more) return;
    }
  }
  std::vector<int64_t> steps() {
    std::vector<int64_t> steps;
    for (const FakeMlflow::Metric& metric : server_.run().metrics) steps.push_back(metric.step);
    return steps;
  }

  FakeMlflow server_;
  MemoryFileSystem files_;
  FakeClock clock_{absl::FromUnixMillis(1000)};
  const HttpClient client_{server_.url(), {.timeout = absl::Seconds(30)}};
  std::string uri_ = "http://tracker";
  std::string rows_;
  std::unique_ptr<MlflowUploader> uploader_;
};

TEST_F(MlflowUploaderTest, ARunBeginsWithItsFirstRow) {
  EXPECT_THAT(uploader_->upload(), IsOkAndHolds(false));
  EXPECT_OK(uploader_->finish());
  EXPECT_EQ(server_.requests(""), 0);
  EXPECT_FALSE(files_.info("out").ok());
  append(1);
  upload_all();
  EXPECT_EQ(server_.run().experiment, "e");
  EXPECT_EQ(server_.run().name, "name");
  EXPECT_THAT(server_.run().params, ElementsAre(Pair("a", "1")));
  EXPECT_OK(uploader_->finish());
  EXPECT_EQ(server_.run().status, "FINISHED");
}

TEST_F(MlflowUploaderTest, RowsAreSentOnce) {
  append(1);
  append(2);
  upload_all();
  append(3);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3));
  EXPECT_EQ(server_.requests(kLogBatch), 3) << "of the parameters and of two batches";
  restart();
  upload_all();
  EXPECT_EQ(server_.requests(kLogBatch), 3);
}

TEST_F(MlflowUploaderTest, ALargeRowIsSentInParts) {
  std::string metrics;
  for (int i = 0; i < 2500; ++i) absl::StrAppend(&metrics, i == 0 ? "{" : ",", "\"m", i, "\":", i);
  append(1, metrics + "}");
  upload_all();
  EXPECT_THAT(server_.run().metrics, SizeIs(2500));
  EXPECT_EQ(server_.requests(kLogBatch), 4);
}

// The times of version 0.1.0 are those of the values that it sent. Others are estimated from the
// start of the run and the time of training.
TEST_F(MlflowUploaderTest, RowsWithoutATime) {
  files_.put("out/times", "3 3000\n");
  rows_ = R"({"step":2,"seconds":1.5,"metrics":{"loss":0.5}})"
          "\n";
  append(3, R"({"loss":0.5})", "");
  append(4, R"({"loss":0.5})", "1970-01-01T00:00:04.000Z");
  upload_all();
  std::vector<int64_t> times;
  for (const FakeMlflow::Metric& metric : server_.run().metrics) times.push_back(metric.time_ms);
  EXPECT_THAT(times, ElementsAre(1500, 3000, 4000));
}

// A killed process has sent all rows.
TEST_F(MlflowUploaderTest, TheNextProcessFinishesTheRun) {
  append(1);
  upload_all();
  restart();
  upload_all();
  EXPECT_OK(uploader_->finish());
  EXPECT_EQ(server_.run().status, "FINISHED");
  restart();
  upload_all();
  EXPECT_OK(uploader_->finish());
  EXPECT_EQ(server_.requests("runs/update"), 1) << "it is finished";
}

TEST_F(MlflowUploaderTest, TheNextProcessContinuesTheRun) {
  append(1);
  upload_all();
  EXPECT_OK(uploader_->finish());
  restart();
  append(2);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1, 2));
  EXPECT_EQ(server_.run().status, "RUNNING");
  EXPECT_EQ(server_.requests("runs/create"), 1);
}

TEST_F(MlflowUploaderTest, AnotherServerHasAnotherRunWithAllRows) {
  append(1);
  upload_all();
  uri_ = "http://other";
  restart();
  upload_all();
  EXPECT_THAT(server_.runs(), SizeIs(2));
  for (const auto& [id, run] : server_.runs()) EXPECT_THAT(run.metrics, SizeIs(1)) << id;
}

TEST_F(MlflowUploaderTest, ALostIdMakesNoSecondRun) {
  append(1);
  upload_all();
  // The process ended before it saved the id.
  const auto json = nlohmann::json::parse(*read_file(files_, "out/run.json"));
  auto without_id = json;
  without_id["run_id"] = "";
  without_id["sent"] = nlohmann::json::object();
  files_.put("out/run.json", without_id.dump());
  restart();
  upload_all();
  EXPECT_THAT(server_.runs(), SizeIs(1));
  EXPECT_EQ(nlohmann::json::parse(*read_file(files_, "out/run.json")), json);
}

TEST_F(MlflowUploaderTest, EachRequestMayFail) {
  for (int failing = 0;; ++failing) {
    server_.intercept([failing, number = 0](const TestRequest&) mutable {
      return number++ == failing ? std::optional(http_response(503, "busy")) : std::nullopt;
    });
    append(failing);
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = uploader_->upload();
    if (more.ok()) break;
    EXPECT_THAT(more.status(), StatusIs(absl::StatusCode::kUnavailable));
    upload_all();
    EXPECT_EQ(steps().back(), failing);
    restart();
  }
  EXPECT_THAT(server_.runs(), SizeIs(1));
  EXPECT_GE(server_.requests("runs/update"), 2);
}

TEST_F(MlflowUploaderTest, ARefusedRowHoldsUpNoOther) {
  server_.intercept([](const TestRequest& request) {
    return absl::StrContains(request.body, "refused")
               ? std::optional(http_response(400, R"({"error_code": "INVALID_PARAMETER_VALUE"})"))
               : std::nullopt;
  });
  append(1);
  append(2, R"({"refused":1})");
  append(3);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1, 3));
  append(4);
  append(5);
  const int64_t before = server_.requests(kLogBatch);
  upload_all();
  EXPECT_EQ(server_.requests(kLogBatch), before + 1) << "both in one request again";
}

TEST_F(MlflowUploaderTest, RefusedParametersHoldUpNoRow) {
  server_.intercept([](const TestRequest& request) {
    return absl::StrContains(request.body, "params")
               ? std::optional(http_response(400, R"({"error_code": "INVALID_PARAMETER_VALUE"})"))
               : std::nullopt;
  });
  append(1);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_THAT(server_.run().params, IsEmpty());
}

TEST_F(MlflowUploaderTest, ARunThatWasDeletedIsReplacedByOneWithAllRows) {
  int64_t rows = 0;
  const auto append_and_expect_all = [&](int64_t number) {
    for (int64_t i = 0; i < number; ++i) append(++rows);
    upload_all();
    int64_t active = 0;
    for (const auto& [id, run] : server_.runs()) {
      if (run.deleted) continue;
      ++active;
      EXPECT_THAT(run.metrics, SizeIs(rows)) << id;
    }
    EXPECT_EQ(active, 1);
  };
  for (const bool forget : {false, true}) {
    append_and_expect_all(1);
    server_.delete_runs(forget);
    append_and_expect_all(2);
    // Between two processes.
    server_.delete_runs(forget);
    restart();
    append_and_expect_all(1);
    restart();
  }
}

TEST_F(MlflowUploaderTest, ARunIsReplacedOnce) {
  append(1);
  upload_all();
  server_.delete_runs(/*forget=*/false);
  append(2);
  upload_all();
  server_.delete_runs(/*forget=*/false);
  append(3);
  EXPECT_THAT(uploader_->upload().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the run is missing on the server again")));
}

}  // namespace
}  // namespace millrace
