#include "sinks/prometheus/prometheus_sink.h"

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<PrometheusSink>> PrometheusSink::create(const std::string& address,
                                                                       int port, Clock& clock,
                                                                       HealthCheck health) {
  std::unique_ptr<PrometheusSink> sink(new PrometheusSink(clock, std::move(health)));
  ASSIGN_OR_RETURN(sink->server_, HttpServer::start({.address = address, .port = port},
                                                    [self = sink.get()](const auto& request) {
                                                      return self->reply(request);
                                                    }));
  return sink;
}

HttpReply PrometheusSink::reply(const HttpServerRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const bool asks_health = path == "/healthz" && health_ != nullptr;
  if (path != "/metrics" && !asks_health) return http_error_reply(404);
  if (request.method != "GET" && request.method != "HEAD") return http_error_reply(405);
  if (asks_health) {
    const HealthReport health = health_();
    return {.status = health.healthy ? 200 : 503, .body = health.text + "\n"};
  }
  MutexLock lock(mutex_);
  return {.body = page_, .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

void PrometheusSink::publish() {
  std::string page = metrics_.text();
  MutexLock lock(mutex_);
  page_ = std::move(page);
}

absl::Status PrometheusSink::start(const SinkStart& start) {
  metrics_.start(start.first_step, clock_.now());
  publish();
  return absl::OkStatus();
}

absl::Status PrometheusSink::write_report(const Report& report) {
  metrics_.add(report, clock_.now());
  publish();
  return absl::OkStatus();
}

absl::Status PrometheusSink::write_evaluation(const EvaluationResult& result) {
  metrics_.add(result);
  publish();
  return absl::OkStatus();
}

}  // namespace millrace
