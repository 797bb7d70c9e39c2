// The conformance suite of sinks.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_CONFORMANCE_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "framework/report/sink.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// A value that a sink holds.
struct SinkValue {
  int64_t step = 0;  // of training
  std::string name;  // as the sink names it
  double value = 0;

  friend bool operator==(const SinkValue&, const SinkValue&) = default;
};

struct SinkConformance {
  // Makes the sink under test, a new one at each call. The output directory is there, in memory. A
  // sink of the same input continues what another one wrote.
  std::function<std::unique_ptr<Sink>(const SinkInput& input)> make;
  // Returns the values of reports that sinks of this input wrote and flushed. Null: nothing can be
  // read, and which reports a sink holds is not checked.
  std::function<std::vector<SinkValue>(const SinkInput& input)> read = nullptr;
  // Returns the values of evaluations that sinks of this input wrote and flushed, where the names
  // of two sets differ. Null: which evaluations a sink holds is not checked.
  std::function<std::vector<SinkValue>(const SinkInput& input)> read_evaluations = nullptr;
  // Returns all numbers that this sink shows, for a sink that shows the last report and the last
  // evaluation of each set alone. Null: what the sink shows is not checked.
  std::function<std::vector<double>(const Sink& sink)> shown = nullptr;
  // If true, the sink holds each figure of report_figures.h, each metric, value and learning rate,
  // and each reason of evictions. REQUIRES: `read` and `read_evaluations`, or `shown`.
  bool holds_figures = false;
};

// Returns the promises of Sink: reports and evaluations are taken without any value, and with all
// of them, also infinite ones and not-a-number, under long and odd names; calls may come in any
// order, flush() repeatedly; a run may follow another one, with the same sink and with a new one;
// and, if they can be read, values of reports and of evaluations are there after flush(), those of
// several evaluation sets apart, and values that come again (SinkStart) are replaced by those that
// the run brings: those of steps after the first one of a run, and of the first one itself what the
// checkpoint does not count. A sink that shows the last numbers shows no number of
// reports and of evaluations before them. A sink that holds figures holds all of them.
std::vector<Property> sink_properties(const SinkConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kQueue = register_sink_conformance(
//       "Queue", {.make = [](const SinkInput& input) { return make_queue(input); }});
bool register_sink_conformance(const std::string& suite, const SinkConformance& conformance,
                               std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CONFORMANCE_H_
