#include "sinks/prometheus/prometheus_sink.h"

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<PrometheusSink>> PrometheusSink::create(const std::string& address,
                                                                       int port, Clock& clock) {
  std::unique_ptr<PrometheusSink> sink(new PrometheusSink(clock));
  ASSIGN_OR_RETURN(sink->endpoint_,
                   HttpEndpoint::start({.address = address, .port = port}, [self = sink.get()] {
                     MutexLock lock(self->mutex_);
                     return self->page_;
                   }));
  return sink;
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
