#include "sinks/mlflow/fake_mlflow_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr char kBase[] = "/api/2.0/mlflow/";

TestResponse good(const Json& body) { return http_response(200, body.dump()); }

TestResponse error(int status, const std::string& code) {
  return http_response(status, Json{{"error_code", code}, {"message", "a message"}}.dump());
}

TestResponse missing() { return error(404, "RESOURCE_DOES_NOT_EXIST"); }
TestResponse invalid() { return error(400, "INVALID_PARAMETER_VALUE"); }

// The rules of MLflow for names of metrics and parameters.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 250) return false;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-. :/", c);
  });
}

// True if MLflow accepts the entries of a batch.
bool is_batch(const Json& body) {
  const Json metrics = body.value("metrics", Json::array()),
             params = body.value("params", Json::array());
  if (metrics.size() > 1000 || params.size() > 100) return false;
  for (const Json& metric : metrics) {
    const Json& value = metric["value"];
    const bool word = value == "NaN" || value == "Infinity" || value == "-Infinity";
    if (!is_name(metric["key"].get<std::string>()) || (!value.is_number() && !word)) return false;
  }
  return std::all_of(params.begin(), params.end(), [](const Json& param) {
    return is_name(param["key"].get<std::string>()) && param["value"].is_string();
  });
}

TestResponse log_batch(FakeMlflow::Run& run, const Json& body) {
  if (run.deleted || !is_batch(body)) return invalid();
  for (const Json& param : body.value("params", Json::array())) {
    const auto key = param["key"].get<std::string>(), value = param["value"].get<std::string>();
    if (run.params.try_emplace(key, value).first->second != value) return invalid();
  }
  for (const Json& json : body.value("metrics", Json::array())) {
    FakeMlflow::Metric metric{.key = json["key"].get<std::string>(),
                              .step = json["step"].get<int64_t>(),
                              .time_ms = json["timestamp"].get<int64_t>(),
                              .value = json["value"].dump()};
    ++run.received;
    if (std::find(run.metrics.begin(), run.metrics.end(), metric) == run.metrics.end()) {
      run.metrics.push_back(std::move(metric));
    }
  }
  return good(Json::object());
}

}  // namespace

TestResponse http_response(int status, const std::string& body) {
  return {.status = status, .body = body, .content_type = "application/json"};
}

FakeMlflow::FakeMlflow(HttpServerOptions options) : tls_(!options.certificate.empty()) {
  options.client_timeout = absl::Seconds(30);
  auto server =
      HttpServer::start(options, [this](const TestRequest& request) { return respond(request); });
  EXPECT_TRUE(server.ok()) << server.status();
  if (server.ok()) server_ = *std::move(server);
}

HttpUrl FakeMlflow::url() const {
  return {.host = "127.0.0.1", .port = server_->port(), .tls = tls_};
}

std::string FakeMlflow::uri() const {
  return absl::StrCat(tls_ ? "https" : "http", "://127.0.0.1:", server_->port());
}

void FakeMlflow::intercept(Interceptor interceptor) {
  MutexLock lock(mutex_);
  interceptor_ = std::move(interceptor);
}

TestResponse FakeMlflow::respond(const TestRequest& request) {
  MutexLock lock(mutex_);
  EXPECT_TRUE(absl::StartsWith(request.target, kBase)) << request.target;
  TestRequest below = request;
  below.target.erase(0, sizeof(kBase) - 1);
  ++requests_[below.target];
  if (interceptor_) {
    if (const std::optional<TestResponse> other = interceptor_(below)) return *other;
  }
  return below.method == "GET" ? get(below.target) : post(below);
}

TestResponse FakeMlflow::get(const std::string& target) {
  const std::string value = target.substr(target.find('=') + 1);
  if (absl::StartsWith(target, "experiments/get-by-name?experiment_name=")) {
    const auto found = experiments_.find(value);
    if (found == experiments_.end()) return missing();
    return good(
        {{"experiment",
          {{"experiment_id", value}, {"lifecycle_stage", found->second ? "deleted" : "active"}}}});
  }
  EXPECT_TRUE(absl::StartsWith(target, "runs/get?run_id=")) << target;
  const auto run = runs_.find(value);
  if (run == runs_.end()) return missing();
  return good(
      {{"run", {{"info", {{"lifecycle_stage", run->second.deleted ? "deleted" : "active"}}}}}});
}

TestResponse FakeMlflow::post(const TestRequest& request) {
  const Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(body.is_object()) << request.body;
  if (!body.is_object()) return error(500, "INTERNAL_ERROR");
  if (request.target == "experiments/create") {
    const auto name = body["name"].get<std::string>();
    if (!experiments_.emplace(name, false).second) return error(400, "RESOURCE_ALREADY_EXISTS");
    return good({{"experiment_id", name}});
  }
  if (request.target == "runs/search") {
    for (const auto& [id, run] : runs_) {
      const bool has_tag = body["filter"] == absl::StrCat("tags.`millrace.run` = '", run.tag, "'");
      if (!has_tag || run.deleted) continue;
      return good({{"runs", {{{"info", {{"run_id", id}}}}}}});
    }
    return good(Json::object());
  }
  if (request.target == "runs/create") {
    Run run;
    run.experiment = body["experiment_id"].get<std::string>();
    run.name = body["run_name"].get<std::string>();
    run.tag = body["tags"][0]["value"].get<std::string>();
    run.status = "RUNNING";
    if (!experiments_.contains(run.experiment)) return missing();
    const std::string id = absl::StrCat("run", runs_.size() + 1);
    runs_[id] = std::move(run);
    return good({{"run", {{"info", {{"run_id", id}}}}}});
  }
  const auto found = runs_.find(body["run_id"].get<std::string>());
  if (found == runs_.end()) return missing();
  if (request.target == "runs/log-batch") return log_batch(found->second, body);
  EXPECT_EQ(request.target, "runs/update");
  if (found->second.deleted) return invalid();
  found->second.status = body["status"].get<std::string>();
  return good(Json::object());
}

std::map<std::string, FakeMlflow::Run> FakeMlflow::runs() const {
  MutexLock lock(mutex_);
  return runs_;
}

FakeMlflow::Run FakeMlflow::run() const {
  const std::map<std::string, Run> all = runs();
  EXPECT_EQ(all.size(), 1);
  return all.empty() ? Run() : all.begin()->second;
}

std::vector<std::string> FakeMlflow::values(const std::string& key) const {
  std::vector<std::string> values;
  for (const Metric& metric : run().metrics) {
    if (metric.key == key) values.push_back(metric.value);
  }
  return values;
}

int64_t FakeMlflow::requests(const std::string& prefix) const {
  MutexLock lock(mutex_);
  int64_t number = 0;
  for (const auto& [target, count] : requests_) {
    if (absl::StartsWith(target, prefix)) number += count;
  }
  return number;
}

void FakeMlflow::add_experiment(const std::string& name, bool deleted) {
  MutexLock lock(mutex_);
  experiments_[name] = deleted;
}

void FakeMlflow::delete_runs(bool forget) {
  MutexLock lock(mutex_);
  for (auto& [id, run] : runs_) run.deleted = true;
  if (forget) runs_.clear();
}

bool FakeMlflow::wait_for(
    const std::function<bool(const std::map<std::string, Run>&)>& condition) const {
  MutexLock lock(mutex_);
  return mutex_.await_for(absl::Seconds(20), [&] { return condition(runs_); });
}

}  // namespace millrace
