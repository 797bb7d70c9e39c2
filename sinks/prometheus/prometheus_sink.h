// Reports and evaluations for Prometheus.
#ifndef MILLRACE_SINKS_PROMETHEUS_PROMETHEUS_SINK_H_
#define MILLRACE_SINKS_PROMETHEUS_PROMETHEUS_SINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/http/http_server.h"
#include "base/mutex.h"
#include "framework/report/sink.h"
#include "sinks/prometheus/health_report.h"
#include "sinks/prometheus/metrics_text.h"

namespace millrace {

// Serves the latest numbers at http://ADDRESS:PORT/metrics (metrics_text.h), and the health of the
// process at /healthz (200 or 503 and one line), from its creation to its destruction. A scrape
// copies a text and never waits for training.
class PrometheusSink : public Sink {
 public:
  // Borrows `clock`. Without `health` /healthz is not found. Errors: see HttpServer::start().
  static absl::StatusOr<std::unique_ptr<PrometheusSink>> create(const std::string& address,
                                                                int port, Clock& clock,
                                                                HealthCheck health = nullptr);

  absl::Status start(const SinkStart& start) override;
  absl::Status write_report(const Report& report) override;
  absl::Status write_evaluation(const EvaluationResult& result) override;

  int port() const { return server_->port(); }

 private:
  PrometheusSink(Clock& clock, HealthCheck health) : clock_(clock), health_(std::move(health)) {}
  void publish();
  // Returns the page for GET and HEAD of /metrics, the health for those of /healthz, and errors
  // otherwise.
  HttpReply reply(const HttpServerRequest& request);

  Clock& clock_;
  const HealthCheck health_;
  PrometheusMetrics metrics_;
  Mutex mutex_;
  std::string page_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HttpServer> server_;  // the last member: its thread reads the others
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_PROMETHEUS_SINK_H_
