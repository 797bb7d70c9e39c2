#include "sinks/mlflow/mlflow_api.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "sinks/mlflow/mlflow_json.h"
#include "sinks/valid_utf8.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr char kBase[] = "/api/2.0/mlflow/";
constexpr size_t kShownBytes = 300;  // of a message of the server

// Returns printable text of a message, in one line.
std::string shown(absl::string_view text) {
  std::string line = valid_utf8(text.substr(0, kShownBytes));
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return line;
}

// Returns the error of a response whose status is not 200. `body`: its JSON, perhaps none.
absl::Status error_of(const std::string& target, const HttpResponse& response, const Json& body) {
  const std::string code = body.is_object() ? text_of(body, "error_code") : "";
  const std::string text = absl::StrCat(
      target.substr(0, target.find('?')), " failed with HTTP status ", response.status, ": ",
      code.empty() ? shown(response.body)
                   : absl::StrCat(code, ": ", shown(text_of(body, "message"))));
  if (code == "RESOURCE_DOES_NOT_EXIST") return absl::NotFoundError(text);
  if (code == "RESOURCE_ALREADY_EXISTS") return absl::AlreadyExistsError(text);
  // Other servers than MLflow respond with 400 too, but not with such a code.
  if (response.status == 400 && !code.empty()) return absl::InvalidArgumentError(text);
  return absl::UnavailableError(text);
}

std::string percent_encoded(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~') {
      encoded.push_back(c);
    } else {
      absl::StrAppend(&encoded, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return encoded;
}

// Returns the value of a variable of the environment; "" if it is not set.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

HttpClientOptions mlflow_client_options(const HttpUrl& server, absl::Duration timeout) {
  HttpClientOptions options{.timeout = timeout};
  HttpCredentials& credentials = options.credentials;
  credentials.user = variable("MLFLOW_TRACKING_USERNAME");
  credentials.password = variable("MLFLOW_TRACKING_PASSWORD");
  if (credentials.user.empty() || credentials.password.empty()) {
    credentials = {.token = variable("MLFLOW_TRACKING_TOKEN")};
  }
  options.trust.ca_setting = "MLFLOW_TRACKING_SERVER_CERT_PATH";
  options.trust.ca_path = variable(options.trust.ca_setting.c_str());
  const std::string insecure = variable("MLFLOW_TRACKING_INSECURE_TLS");
  if (options.trust.ca_path.empty() &&
      (absl::EqualsIgnoreCase(insecure, "true") || insecure == "1")) {
    options.trust.verify = false;
  }
  if (server.tls && !options.trust.verify) {
    MILLRACE_LOG(WARNING)
        << "MLflow: MLFLOW_TRACKING_INSECURE_TLS is set, so the certificate of the "
           "server is not verified, and an attacker may read the reports";
  }
  const bool has_credentials = !credentials.user.empty() || !credentials.token.empty();
  if (has_credentials && !server.tls && !is_this_machine(server.host)) {
    MILLRACE_LOG(WARNING) << "MLflow: the credentials in MLFLOW_TRACKING_* are sent to "
                          << server.host
                          << " without TLS, so an attacker on the way may read them; give a "
                             "tracking_uri with https";
  }
  return options;
}

absl::StatusOr<Json> MlflowApi::call(const char* method, const std::string& target,
                                     const std::string& body) {
  ASSIGN_OR_RETURN(const HttpResponse response,
                   client_.send({.method = method,
                                 .target = absl::StrCat(kBase, target),
                                 .body = body,
                                 .headers = {{"Accept", "application/json"}}},
                                limit_ ? limit_() : absl::InfiniteDuration()));
  Json parsed = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (response.status != 200) return error_of(target, response, parsed);
  if (!parsed.is_object()) {
    return absl::UnavailableError(
        absl::StrCat(target.substr(0, target.find('?')),
                     ": the response is no JSON object; is tracking_uri the "
                     "address of an MLflow server?"));
  }
  return parsed;
}

absl::StatusOr<Json> MlflowApi::post(const std::string& target, const Json& body) {
  return call("POST", target, dump_json(body));
}

absl::StatusOr<std::string> MlflowApi::text_at(const Json& response, const char* pointer,
                                               const std::string& target) {
  const Json::json_pointer place(pointer);
  if (!response.contains(place) || !response[place].is_string()) {
    return absl::UnavailableError(absl::StrCat(target, ": the response has no ", pointer));
  }
  return response[place].get<std::string>();
}

absl::StatusOr<std::string> MlflowApi::find_or_create_experiment(const std::string& name) {
  const std::string get =
      absl::StrCat("experiments/get-by-name?experiment_name=", percent_encoded(name));
  absl::StatusOr<Json> found = call("GET", get, "");
  if (absl::IsNotFound(found.status())) {
    const absl::StatusOr<Json> created = post("experiments/create", {{"name", valid_utf8(name)}});
    if (created.ok()) return text_at(*created, "/experiment_id", "experiments/create");
    // Another run was faster.
    if (!absl::IsAlreadyExists(created.status())) return created.status();
    found = call("GET", get, "");
  }
  RETURN_IF_ERROR(found.status());
  const auto stage = text_at(*found, "/experiment/lifecycle_stage", get);
  if (stage.ok() && *stage == "deleted") {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment \"", name, "\" is deleted; restore it or name another one"));
  }
  return text_at(*found, "/experiment/experiment_id", get);
}

absl::StatusOr<std::string> MlflowApi::find_or_create_run(const MlflowNewRun& run) {
  const Json query = {{"experiment_ids", {run.experiment_id}},
                      {"filter", absl::StrCat("tags.`", kMlflowRunTag, "` = '", run.tag, "'")},
                      {"max_results", 1}};
  ASSIGN_OR_RETURN(const Json found, post("runs/search", query));
  if (const auto id = text_at(found, "/runs/0/info/run_id", "runs/search"); id.ok()) return id;
  const Json body = {{"experiment_id", run.experiment_id},
                     {"run_name", run.name},
                     {"start_time", run.start_ms},
                     {"tags", {{{"key", kMlflowRunTag}, {"value", run.tag}}}}};
  ASSIGN_OR_RETURN(const Json created, post("runs/create", body));
  return text_at(created, "/run/info/run_id", "runs/create");
}

absl::Status MlflowApi::resume_run(const std::string& run_id) {
  return post("runs/update", {{"run_id", run_id}, {"status", "RUNNING"}}).status();
}

absl::Status MlflowApi::finish_run(const std::string& run_id, int64_t end_ms) {
  return post("runs/update", {{"run_id", run_id}, {"status", "FINISHED"}, {"end_time", end_ms}})
      .status();
}

absl::StatusOr<bool> MlflowApi::is_active(const std::string& run_id) {
  const std::string get = absl::StrCat("runs/get?run_id=", percent_encoded(run_id));
  ASSIGN_OR_RETURN(const Json found, call("GET", get, ""));
  ASSIGN_OR_RETURN(const std::string stage, text_at(found, "/run/info/lifecycle_stage", get));
  return stage == "active";
}

absl::Status MlflowApi::log_metrics(const std::string& run_id,
                                    absl::Span<const MlflowMetric> metrics) {
  // A number that is not finite must be a text, which Json does not know.
  std::string body = absl::StrCat("{\"run_id\":", dump_json(run_id), ",\"metrics\":[");
  const char* separator = "";
  for (const MlflowMetric& metric : metrics) {
    absl::StrAppend(&body, separator, "{\"key\":", dump_json(metric.key),
                    ",\"value\":", json_number(metric.value), ",\"timestamp\":", metric.time_ms,
                    ",\"step\":", metric.step, "}");
    separator = ",";
  }
  return call("POST", "runs/log-batch", body + "]}").status();
}

absl::Status MlflowApi::log_params(const std::string& run_id, const MlflowParams& params) {
  Json list = Json::array();
  for (const auto& [key, value] : params) list.push_back({{"key", key}, {"value", value}});
  return post("runs/log-batch", {{"run_id", run_id}, {"params", list}}).status();
}

}  // namespace millrace
