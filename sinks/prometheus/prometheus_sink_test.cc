#include "sinks/prometheus/prometheus_sink.h"

#include "base/status_matchers.h"
#include "framework/report/sink_conformance.h"

namespace millrace {
namespace {

[[maybe_unused]] const bool kPrometheus =
    register_sink_conformance("Prometheus", {.make = [](const SinkInput&) {
                                return *PrometheusSink::create("127.0.0.1", 0, Clock::real());
                              }});

TEST(PrometheusSinkTest, HasAPort) {
  ASSERT_OK_AND_ASSIGN(const auto sink, PrometheusSink::create("127.0.0.1", 0, Clock::real()));
  EXPECT_GT(sink->port(), 0);
}

}  // namespace
}  // namespace millrace
