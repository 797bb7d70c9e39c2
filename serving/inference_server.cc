#include "serving/inference_server.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/http/http_server.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "serving/inference_request.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

// Upper limits of the histogram of latencies, in milliseconds.
constexpr std::array<double, 12> kLatencies = {0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

constexpr int64_t kMostWaiting = 256;  // requests; further ones are refused

HttpReply json_reply(const Json& json, int status = 200) {
  return {.status = status,
          .body = json.dump(-1, ' ', false, Json::error_handler_t::replace),
          .content_type = "application/json"};
}

HttpReply error_reply(int status, absl::string_view what) {
  return json_reply({{"error", std::string(what)}}, status);
}

int status_of(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) return 400;
  return absl::IsUnavailable(status) ? 503 : 500;
}

}  // namespace

class InferenceServer::Impl {
 public:
  Impl(InferenceServerOptions options, Predictor& predictor, std::function<FollowerCounts()> counts)
      : options_(std::move(options)), predictor_(predictor), counts_(std::move(counts)) {}

  absl::Status start() {
    HttpServerOptions http;
    http.address = options_.address;
    http.port = options_.port;
    http.client_timeout = options_.client_timeout;
    http.most_body_bytes = options_.most_body_bytes;
    http.most_connections = 1024;
    http.handler_threads = options_.threads;
    http.keep_alive = true;
    // A probe of the health does not wait for workers, and neither does the refusal of a request.
    http.handled_at_once = [this](const HttpServerRequest& request) { return !queue(request); };
    ASSIGN_OR_RETURN(server_, HttpServer::start(http, [this](const HttpServerRequest& request) {
                       return handle(request);
                     }));
    return absl::OkStatus();
  }

  int port() const { return server_->port(); }

  void drain(absl::Duration limit) {
    {
      MutexLock lock(mutex_);
      draining_ = true;
    }
    server_->drain(limit);
  }

 private:
  bool draining() {
    MutexLock lock(mutex_);
    return draining_;
  }

  // Returns true if a thread of the pool is to answer the request.
  bool queue(const HttpServerRequest& request) {
    if (request.method != "POST") return false;
    MutexLock lock(mutex_);
    if (draining_ || waiting_ >= kMostWaiting) return false;
    ++waiting_;
    return true;
  }

  HttpReply handle(const HttpServerRequest& request) {
    const absl::StatusOr<HttpReply> reply = catch_exceptions(
        "the request", [&]() -> absl::StatusOr<HttpReply> { return answer(request); });
    if (request.method == "POST" && !request.at_once) {
      MutexLock lock(mutex_);
      --waiting_;
    }
    return reply.ok() ? *reply : error_reply(500, reply.status().message());
  }

  HttpReply answer(const HttpServerRequest& request) {
    const std::string target = request.target.substr(0, request.target.find('?'));
    std::vector<absl::string_view> path = absl::StrSplit(target, '/', absl::SkipEmpty());
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (path.size() == 1 && path[0] == "metrics" && reads) return metrics();
    if (path.empty() || path[0] != "v2") return error_reply(404, "unknown URL; see /v2");
    path.erase(path.begin());
    if (path.empty() && reads) return server_metadata();
    if (path.size() == 2 && path[0] == "health" && reads) return health(path[1]);
    if (path.size() < 2 || path[0] != "models") return error_reply(404, "unknown URL");
    if (path[1] != options_.model) {
      return error_reply(404, absl::StrCat("the model is ", options_.model));
    }
    path.erase(path.begin(), path.begin() + 2);
    std::string version;  // "": any
    if (path.size() >= 2 && path[0] == "versions") {
      version = std::string(path[1]);
      if (version != absl::StrCat(predictor_.version()->step)) return other_version();
      path.erase(path.begin(), path.begin() + 2);
    }
    if (path.empty() && reads) return model_metadata();
    if (path.size() == 1 && path[0] == "ready" && reads) return health("ready");
    if (path.size() == 1 && path[0] == "infer" && request.method == "POST") {
      return infer(request, version);
    }
    return error_reply(404, "unknown URL or method");
  }

  HttpReply health(absl::string_view what) {
    if (what == "live") return {};
    if (what != "ready") return error_reply(404, "unknown URL");
    return draining() ? error_reply(503, "the server ends") : HttpReply();
  }

  HttpReply server_metadata() const {
    return json_reply(
        {{"name", "millrace"}, {"version", kVersion}, {"extensions", {"binary_tensor_data"}}});
  }

  HttpReply model_metadata() const {
    Json inputs = Json::array();
    for (const RequestFeature& feature : predictor_.features()) {
      const char* const type = feature.is_text ? "BYTES" : feature.is_sparse ? "INT64" : "FP32";
      inputs.push_back({{"name", feature.column},
                        {"datatype", type},
                        {"shape", {-1, feature.is_sparse ? -1 : 1}}});
    }
    const auto tasks = static_cast<int64_t>(predictor_.labels().size());
    return json_reply(
        {{"name", options_.model},
         {"versions", {absl::StrCat(predictor_.version()->step)}},
         {"platform", "millrace"},
         {"inputs", std::move(inputs)},
         {"outputs",
          {{{"name", kPredictionsOutput}, {"datatype", "FP32"}, {"shape", {-1, tasks}}}}}});
  }

  HttpReply other_version() const {
    return error_reply(404, absl::StrCat("the served version is ", predictor_.version()->step));
  }

  HttpReply infer(const HttpServerRequest& request, const std::string& version) {
    if (request.at_once) {
      return error_reply(503, draining() ? "the server ends" : "too many requests wait");
    }
    const absl::string_view encoding = request.header("Content-Encoding");
    if (!encoding.empty() && encoding != "identity") {
      return error_reply(
          415, absl::StrCat("Content-Encoding is ", encoding, "; compressed bodies are not read"));
    }
    const absl::Duration begin = Clock::real().elapsed();
    int64_t rows = 0;
    HttpReply reply;
    const absl::Status status = catch_exceptions("the request", [&]() -> absl::Status {
      ASSIGN_OR_RETURN(InferenceRequest parsed,
                       parse_inference_request(request.body, request.header(kJsonLengthField)));
      ASSIGN_OR_RETURN(const Predictions predictions,
                       predictor_.predict(std::move(parsed.columns), parsed.rows));
      if (!version.empty() && version != absl::StrCat(predictions.version->step)) {
        reply = other_version();
        return absl::OkStatus();
      }
      rows = predictions.rows;
      InferenceReply formatted = format_inference_reply(parsed, options_.model, predictions);
      reply.body = std::move(formatted.body);
      reply.content_type =
          formatted.json_length > 0 ? "application/octet-stream" : "application/json";
      if (formatted.json_length > 0) {
        reply.headers.emplace_back(kJsonLengthField, absl::StrCat(formatted.json_length));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) reply = error_reply(status_of(status), status.message());
    const double milliseconds = absl::ToDoubleMilliseconds(Clock::real().elapsed() - begin);
    MutexLock lock(mutex_);
    rows_ += rows;
    ++replies_[reply.status];
    if (!status.ok()) return reply;
    ++answered_;
    sum_ms_ += milliseconds;
    for (size_t i = 0; i < kLatencies.size(); ++i) {
      if (milliseconds <= kLatencies[i]) ++within_[i];
    }
    return reply;
  }

  HttpReply metrics() {
    const std::shared_ptr<const ModelVersion> version = predictor_.version();
    const FollowerCounts counts = counts_ ? counts_() : FollowerCounts();
    int64_t bytes = 0, overlay = 0;
    for (const auto& [name, table] : version->tables) {
      bytes += table->bytes();
      overlay += table->overlay_rows();
    }
    std::string text;
    const auto add = [&text](absl::string_view name, absl::string_view type, absl::string_view help,
                             auto value) {
      absl::StrAppend(&text, "# HELP millrace_serving_", name, " ", help,
                      "\n# TYPE millrace_serving_", name, " ", type, "\nmillrace_serving_", name,
                      " ", value, "\n");
    };
    add("version_step", "gauge", "Step of the served version.", version->step);
    add("table_bytes", "gauge", "Memory of the tables.", bytes);
    add("overlay_rows", "gauge", "Changed rows that are not merged yet.", overlay);
    add("deltas_total", "counter", "Deltas that were taken.", counts.deltas);
    add("full_loads_total", "counter", "Versions that were loaded whole.", counts.full_loads);
    add("refused_total", "counter", "Checkpoints that were passed over.", counts.refused);
    const auto add_age = [&](absl::string_view name, absl::string_view help,
                             const std::string& since) {
      absl::Time time;
      if (!absl::ParseTime(absl::RFC3339_full, since, &time, nullptr)) return;
      add(name, "gauge", help, absl::ToDoubleSeconds(Clock::real().now() - time));
    };
    add_age("version_age_seconds", "Time since the served version was saved.", version->created);
    add_age("data_age_seconds", "Time since the newest data of the served version was written.",
            counts.data_time);
    if (counts.freshness > absl::ZeroDuration()) {
      add("freshness_seconds", "gauge",
          "Time from the newest data of the served version until it was taken.",
          absl::ToDoubleSeconds(counts.freshness));
    }
    add("batches_total", "counter", "Batches of joined requests.", predictor_.batches());
    MutexLock lock(mutex_);
    add("rows_total", "counter", "Rows that were predicted.", rows_);
    absl::StrAppend(&text, "# HELP millrace_serving_replies_total Replies to infer requests.\n",
                    "# TYPE millrace_serving_replies_total counter\n");
    for (const auto& [status, count] : replies_) {
      absl::StrAppend(&text, "millrace_serving_replies_total{status=\"", status, "\"} ", count,
                      "\n");
    }
    absl::StrAppend(&text, "# HELP millrace_serving_latency_milliseconds Time of a request in the ",
                    "server.\n# TYPE millrace_serving_latency_milliseconds histogram\n");
    for (size_t i = 0; i < kLatencies.size(); ++i) {
      absl::StrAppend(&text, "millrace_serving_latency_milliseconds_bucket{le=\"", kLatencies[i],
                      "\"} ", within_[i], "\n");
    }
    absl::StrAppend(&text, "millrace_serving_latency_milliseconds_bucket{le=\"+Inf\"} ", answered_,
                    "\nmillrace_serving_latency_milliseconds_sum ", sum_ms_,
                    "\nmillrace_serving_latency_milliseconds_count ", answered_, "\n");
    return {.body = text, .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }

  const InferenceServerOptions options_;
  Predictor& predictor_;
  const std::function<FollowerCounts()> counts_;
  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // requests in the pool
  int64_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;
  double sum_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<int64_t, kLatencies.size()> within_ ABSL_GUARDED_BY(mutex_) = {};
  std::map<int, int64_t> replies_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HttpServer> server_;  // last: its threads use the others
};

InferenceServer::InferenceServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InferenceServer::~InferenceServer() = default;
int InferenceServer::port() const { return impl_->port(); }
void InferenceServer::drain(absl::Duration limit) { impl_->drain(limit); }

absl::StatusOr<std::unique_ptr<InferenceServer>> InferenceServer::start(
    const InferenceServerOptions& options, Predictor& predictor,
    std::function<FollowerCounts()> counts) {
  auto impl = std::make_unique<Impl>(options, predictor, std::move(counts));
  RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<InferenceServer>(new InferenceServer(std::move(impl)));
}

}  // namespace millrace
