#include "sinks/mlflow/mlflow_api.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_matchers.h"
#include "sinks/mlflow/fake_mlflow_testing.h"
#include "tests/environment/scoped_variable.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MlflowClientOptionsTest, ComeFromTheEnvironment) {
  const HttpUrl server = {.host = "tracker", .tls = true};
  const ScopedVariable token("MLFLOW_TRACKING_TOKEN", "abc"),
      user("MLFLOW_TRACKING_USERNAME", "ann"), password("MLFLOW_TRACKING_PASSWORD", ""),
      insecure("MLFLOW_TRACKING_INSECURE_TLS", "True"),
      certificate("MLFLOW_TRACKING_SERVER_CERT_PATH", "");
  HttpClientOptions options = mlflow_client_options(server, absl::Seconds(5));
  EXPECT_EQ(options.timeout, absl::Seconds(5));
  EXPECT_EQ(options.credentials.token, "abc") << "a user without a password";
  EXPECT_EQ(options.credentials.user, "");
  EXPECT_FALSE(options.trust.verify);
  const ScopedVariable other_password("MLFLOW_TRACKING_PASSWORD", "pw"),
      other_certificate("MLFLOW_TRACKING_SERVER_CERT_PATH", "/ca.pem");
  options = mlflow_client_options(server, absl::Seconds(5));
  EXPECT_EQ(options.credentials.token, "");
  EXPECT_EQ(options.credentials.user + options.credentials.password, "annpw");
  EXPECT_EQ(options.trust.ca_path, "/ca.pem");
  EXPECT_TRUE(options.trust.verify);
}

TEST(MlflowClientOptionsTest, WarnsOfWhatAnAttackerMayRead) {
  const ScopedVariable token("MLFLOW_TRACKING_TOKEN", "secret"),
      insecure("MLFLOW_TRACKING_INSECURE_TLS", "1");
  const auto warning = [](const HttpUrl& server) {
    std::string log;
    set_log_sink([&](LogSeverity, absl::string_view line) { absl::StrAppend(&log, line); });
    mlflow_client_options(server, absl::Seconds(5));
    set_log_sink(nullptr);
    return log;
  };
  EXPECT_THAT(warning({.host = "tracker", .tls = true}), HasSubstr("INSECURE_TLS is set"));
  EXPECT_THAT(warning({.host = "tracker"}),
              AllOf(HasSubstr("are sent to tracker without TLS"), Not(HasSubstr("INSECURE_TLS")),
                    Not(HasSubstr("secret"))));
  EXPECT_EQ(warning({.host = "127.0.0.1"}), "");
}

class MlflowApiTest : public testing::Test {
 protected:
  std::string make_run() {
    EXPECT_OK(api_.find_or_create_experiment("e").status());
    const auto id = api_.find_or_create_run(kRun);
    EXPECT_OK(id.status());
    return id.value_or("");
  }
  // Every request gets this response.
  void answer(int status, const std::string& body) {
    server_.intercept([=](const TestRequest&) { return http_response(status, body); });
  }

  const MlflowNewRun kRun{.experiment_id = "e", .name = "name", .tag = "tag", .start_ms = 5};
  FakeMlflow server_;
  const HttpClient client_{server_.url(), {.timeout = absl::Seconds(30)}};
  MlflowApi api_{client_};
};

TEST_F(MlflowApiTest, AnExperimentIsCreatedOnce) {
  EXPECT_THAT(api_.find_or_create_experiment("e"), IsOkAndHolds("e"));
  EXPECT_THAT(api_.find_or_create_experiment("e"), IsOkAndHolds("e"));
  EXPECT_EQ(server_.requests("experiments/create"), 1);
}

TEST_F(MlflowApiTest, NamesOfExperimentsAreEncoded) {
  EXPECT_OK(api_.find_or_create_experiment("a b&c/ü").status());
  EXPECT_EQ(server_.requests("experiments/get-by-name?experiment_name=a%20b%26c%2f%c3%bc"), 1);
}

TEST_F(MlflowApiTest, AnExperimentThatAnotherRunCreates) {
  server_.intercept([this, first = true](const TestRequest& request) mutable {
    if (request.method == "POST" || !first) return std::optional<TestResponse>();
    first = false;
    return std::optional(http_response(404, R"({"error_code": "RESOURCE_DOES_NOT_EXIST"})"));
  });
  server_.add_experiment("e", false);
  EXPECT_THAT(api_.find_or_create_experiment("e"), IsOkAndHolds("e"));
}

TEST_F(MlflowApiTest, ADeletedExperiment) {
  server_.add_experiment("e", true);
  EXPECT_THAT(api_.find_or_create_experiment("e").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("experiment \"e\" is deleted; restore it or name another one")));
}

TEST_F(MlflowApiTest, ARunIsFoundAgain) {
  const std::string id = make_run();
  EXPECT_EQ(make_run(), id);
  EXPECT_EQ(server_.run().name, "name");
  EXPECT_EQ(server_.run().status, "RUNNING");
  EXPECT_OK(api_.finish_run(id, 10));
  EXPECT_EQ(server_.run().status, "FINISHED");
  EXPECT_OK(api_.resume_run(id));
  EXPECT_EQ(server_.run().status, "RUNNING");
  EXPECT_THAT(api_.is_active(id), IsOkAndHolds(true));
  server_.delete_runs(/*forget=*/false);
  EXPECT_THAT(api_.is_active(id), IsOkAndHolds(false));
  EXPECT_NE(make_run(), id);
  server_.delete_runs(/*forget=*/true);
  EXPECT_THAT(api_.is_active(id).status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(MlflowApiTest, MetricsOfAllKinds) {
  using Limits = std::numeric_limits<double>;
  const std::string id = make_run();
  const std::vector<MlflowMetric> metrics = {
      {"m", 0.1, 1000, 1},
      {"m", Limits::quiet_NaN(), 1000, 2},
      {"m", Limits::infinity(), 1000, 3},
      {"m", -Limits::infinity(), 1000, 4},
      {"m", 1e300, 1000, std::numeric_limits<int64_t>::max()}};
  EXPECT_OK(api_.log_metrics(id, metrics));
  EXPECT_OK(api_.log_metrics(id, metrics));
  EXPECT_THAT(server_.values("m"),
              ElementsAre("0.1", "\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "1e+300"));
}

TEST_F(MlflowApiTest, ABatchOfAllMetricsIsSmallEnough) {
  const std::string id = make_run();
  std::vector<MlflowMetric> metrics;
  for (size_t i = 0; i < kMostMlflowMetrics; ++i) {
    metrics.push_back({absl::StrCat(std::string(245, 'x'), i), -1.2345678901234567e-300,
                       1795773801243, std::numeric_limits<int64_t>::max()});
  }
  size_t bytes = 0;
  server_.intercept([&](const TestRequest& request) {
    bytes = request.body.size();
    return std::optional<TestResponse>();
  });
  EXPECT_OK(api_.log_metrics(id, metrics));
  EXPECT_LT(bytes, 1'000'000);
}

TEST_F(MlflowApiTest, ParametersDoNotChange) {
  const std::string id = make_run();
  EXPECT_OK(api_.log_params(id, {{"a", "1"}, {"b", "ü\xff\""}}));
  EXPECT_OK(api_.log_params(id, {{"a", "1"}}));
  EXPECT_EQ(server_.run().params["b"], "ü\uFFFD\"");
  EXPECT_THAT(api_.log_params(id, {{"a", "2"}}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MlflowApiTest, ErrorsOfTheServer) {
  const std::string id = make_run();
  EXPECT_THAT(api_.log_metrics("other", {}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(api_.log_metrics(id, {{{"a=b", 1, 1, 1}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("runs/log-batch failed with HTTP status 400"),
                             HasSubstr("INVALID_PARAMETER_VALUE: a message"))));
  const auto expect_unavailable = [&](const char* what) {
    EXPECT_THAT(api_.log_metrics(id, {}),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(what)));
  };
  answer(503, "<html>\nbusy");
  expect_unavailable("HTTP status 503: <html> busy");
  answer(404, "<html>");
  expect_unavailable("HTTP status 404");
  answer(400, "bad request");
  expect_unavailable("HTTP status 400");
  answer(429, R"({"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "slow down"})");
  expect_unavailable("REQUEST_LIMIT_EXCEEDED: slow down");
  answer(302, "");
  expect_unavailable("HTTP status 302");
  answer(200, "<html>");
  expect_unavailable("is tracking_uri the address of an MLflow server?");
  answer(200, "[]");
  expect_unavailable("no JSON object");
}

TEST_F(MlflowApiTest, ResponsesWithoutWhatIsNeeded) {
  for (const char* body :
       {"{}", R"({"experiment": 1, "run": {"info": []}, "runs": {}})",
        R"({"experiment": {"experiment_id": 7}, "run": {"info": {"run_id": 7}}})"}) {
    answer(200, body);
    EXPECT_THAT(api_.find_or_create_experiment("e").status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has no")));
    EXPECT_THAT(api_.find_or_create_run(kRun).status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has no")));
    EXPECT_THAT(api_.is_active("x").status(), StatusIs(absl::StatusCode::kUnavailable));
  }
}

}  // namespace
}  // namespace millrace
