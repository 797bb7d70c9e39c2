#include "sinks/prometheus/prometheus_sink.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/http/http_client.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "framework/report/sink_conformance.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<PrometheusSink> make_sink(Clock& clock = Clock::real()) {
  auto sink = PrometheusSink::create("127.0.0.1", 0, clock);
  EXPECT_OK(sink.status());
  return sink.ok() ? *std::move(sink) : nullptr;
}

HttpResponse ask(const PrometheusSink& sink, const HttpRequest& request) {
  const HttpClient client({.host = "127.0.0.1", .port = sink.port()},
                          {.timeout = absl::Seconds(30)});
  const auto response = client.send(request);
  EXPECT_OK(response.status());
  return response.value_or(HttpResponse());
}

// Returns the page that the sink serves.
std::string scrape(const PrometheusSink& sink) {
  const HttpResponse response = ask(sink, {.target = "/metrics"});
  EXPECT_EQ(response.status, 200);
  return response.body;
}

std::vector<double> scraped_numbers(const Sink& sink) {
  std::vector<double> numbers;
  const std::string page = scrape(static_cast<const PrometheusSink&>(sink));
  for (const absl::string_view line : absl::StrSplit(page, '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    double& number = numbers.emplace_back();
    EXPECT_TRUE(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &number)) << line;
  }
  return numbers;
}

[[maybe_unused]] const bool kPrometheus =
    register_sink_conformance("Prometheus", {.make = [](const SinkInput&) { return make_sink(); },
                                             .shown = &scraped_numbers,
                                             .holds_figures = true});

TEST(PrometheusSinkTest, ServesTheTimesOfTheStartAndOfTheLastReport) {
  FakeClock clock(absl::FromUnixSeconds(1000));
  const auto sink = make_sink(clock);
  EXPECT_EQ(scrape(*sink), "");
  ASSERT_OK(sink->start({}));
  EXPECT_THAT(scrape(*sink), HasSubstr("\nmillrace_start_timestamp_seconds 1000\n"));
  clock.advance(absl::Seconds(60));
  ASSERT_OK(sink->write_report(Report()));
  EXPECT_THAT(scrape(*sink), HasSubstr("\nmillrace_start_timestamp_seconds 1000\n"));
  EXPECT_THAT(scrape(*sink), HasSubstr("\nmillrace_last_report_timestamp_seconds 1060\n"));
}

TEST(PrometheusSinkTest, ServesOnePage) {
  const auto sink = make_sink();
  ASSERT_OK(sink->start({}));
  EXPECT_EQ(ask(*sink, {.target = "/metrics?a=b"}).body, scrape(*sink));
  EXPECT_EQ(ask(*sink, {.method = "HEAD", .target = "/metrics"}).status, 200);
  EXPECT_EQ(ask(*sink, {.target = "/"}).status, 404);
  EXPECT_EQ(ask(*sink, {.target = "/healthz"}).status, 404) << "without a check of the health";
  EXPECT_EQ(ask(*sink, {.method = "POST", .target = "/metrics", .body = "a"}).status, 405);
}

TEST(PrometheusSinkTest, ServesTheHealthOfTheMoment) {
  Mutex mutex;
  HealthReport report = {true, "ok: forward"};
  const auto sink = PrometheusSink::create("127.0.0.1", 0, Clock::real(), [&] {
    MutexLock lock(mutex);
    return report;
  });
  ASSERT_OK(sink.status());
  HttpResponse response = ask(**sink, {.target = "/healthz"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok: forward\n");
  {
    MutexLock lock(mutex);
    report = {false, "no step for 612 s"};
  }
  response = ask(**sink, {.target = "/healthz?verbose"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "no step for 612 s\n");
  EXPECT_EQ(ask(**sink, {.method = "POST", .target = "/healthz", .body = "a"}).status, 405);
}

}  // namespace
}  // namespace millrace
