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
#include "sinks/mlflow/metric_record.h"

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
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(queue_, RecordQueue::open(files_, "out", {}));
    restart();
  }
  // Makes a new uploader, like the next process.
  void restart() {
    uploader_ = std::make_unique<MlflowUploader>(files_, clock_, *queue_, MlflowApi(client_),
                                                 MlflowUploaderOptions{.tracking_uri = uri_,
                                                                       .experiment = "e",
                                                                       .run_name = "name",
                                                                       .state_path = "out/run.json",
                                                                       .params = {{"a", "1"}}});
  }
  void append(int64_t step, const std::string& key = "loss") {
    EXPECT_OK(queue_->append(to_json({.step = step, .time_ms = 1, .metrics = {{key, 0.5}}})));
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
  std::unique_ptr<RecordQueue> queue_;
  std::unique_ptr<MlflowUploader> uploader_;
};

TEST_F(MlflowUploaderTest, ARunWithoutRecords) {
  EXPECT_THAT(uploader_->upload(), IsOkAndHolds(false));
  EXPECT_EQ(server_.run().experiment, "e");
  EXPECT_EQ(server_.run().name, "name");
  EXPECT_THAT(server_.run().params, ElementsAre(Pair("a", "1")));
  EXPECT_OK(uploader_->finish());
  EXPECT_EQ(server_.run().status, "FINISHED");
}

TEST_F(MlflowUploaderTest, RecordsAreSentAndRemoved) {
  append(1);
  append(2);
  upload_all();
  append(3);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3));
  EXPECT_EQ(queue_->bytes(), 0);
  EXPECT_EQ(server_.requests(kLogBatch), 3) << "of the parameters and of two batches";
}

TEST_F(MlflowUploaderTest, ALargeRecordIsSentInParts) {
  MetricRecord record{.step = 1, .time_ms = 1, .metrics = {}};
  for (int i = 0; i < 2500; ++i) record.metrics.emplace_back(absl::StrCat("m", i), i);
  EXPECT_OK(queue_->append(to_json(record)));
  upload_all();
  EXPECT_THAT(server_.run().metrics, SizeIs(2500));
  EXPECT_EQ(server_.requests(kLogBatch), 4);
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

TEST_F(MlflowUploaderTest, AnotherServerHasAnotherRun) {
  upload_all();
  uri_ = "http://other";
  restart();
  upload_all();
  EXPECT_THAT(server_.runs(), SizeIs(2));
}

TEST_F(MlflowUploaderTest, ALostIdMakesNoSecondRun) {
  upload_all();
  // The process ended before it saved the id.
  const auto json = nlohmann::json::parse(*read_file(files_, "out/run.json"));
  auto without_id = json;
  without_id["run_id"] = "";
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
    const absl::StatusOr<bool> first = uploader_->upload();
    if (first.ok()) break;
    EXPECT_THAT(first.status(), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_GT(queue_->bytes(), 0);
    upload_all();
    EXPECT_EQ(queue_->bytes(), 0);
    restart();
  }
  EXPECT_THAT(server_.runs(), SizeIs(1));
  EXPECT_GE(server_.requests("runs/update"), 2);
}

TEST_F(MlflowUploaderTest, ARefusedRecordHoldsUpNoOther) {
  append(1);
  append(2, "a=b");
  append(3);
  upload_all();
  EXPECT_THAT(steps(), ElementsAre(1, 3));
  append(4);
  append(5);
  const int64_t before = server_.requests(kLogBatch);
  upload_all();
  EXPECT_EQ(server_.requests(kLogBatch), before + 1) << "both in one request again";
}

TEST_F(MlflowUploaderTest, RefusedParametersHoldUpNoRecord) {
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

TEST_F(MlflowUploaderTest, ARunThatWasDeletedIsReplaced) {
  for (const bool forget : {false, true}) {
    append(1);
    upload_all();
    server_.delete_runs(forget);
    append(2);
    append(3);
    upload_all();
    for (const auto& [id, run] : server_.runs()) {
      EXPECT_THAT(run.metrics, SizeIs(run.deleted ? testing::Ge(1) : testing::Ge(2))) << id;
    }
    // Between two processes.
    server_.delete_runs(forget);
    restart();
    append(4);
    upload_all();
    EXPECT_EQ(queue_->bytes(), 0);
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
  EXPECT_GT(queue_->bytes(), 0);
}

}  // namespace
}  // namespace millrace
