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

// A value in a sink.
struct SinkValue {
  int64_t step = 0;  // of training
  std::string name;  // as the sink names it
  double value = 0;

  friend bool operator==(const SinkValue&, const SinkValue&) = default;
};

struct SinkConformance {
  // Creates the sink under test, a new sink at each call. The output directory exists, in memory. A
  // new sink with the same input continues the output of the previous one.
  std::function<std::unique_ptr<Sink>(const SinkInput& input)> make;
  // Returns the values of reports that sinks of this input wrote and flushed. Null: the reports in
  // a sink cannot be read and are not checked.
  std::function<std::vector<SinkValue>(const SinkInput& input)> read = nullptr;
  // Returns the values of evaluations that sinks of this input wrote and flushed, with different
  // names for different sets. Null: the evaluations in a sink are not checked.
  std::function<std::vector<SinkValue>(const SinkInput& input)> read_evaluations = nullptr;
  // Returns all numbers that this sink shows, for a sink that shows only the last report and the
  // last evaluation of each set. Null: the numbers shown are not checked.
  std::function<std::vector<double>(const Sink& sink)> shown = nullptr;
  // If true, the sink holds each figure of report_figures.h, each metric, value and learning rate,
  // and each reason of evictions. REQUIRES: `read` and `read_evaluations`, or `shown`.
  bool holds_figures = false;
};

// Returns the properties that every sink must have:
//  * a sink accepts reports and evaluations without any value and with all values, also infinite
//    ones and not-a-number, under long and odd names;
//  * calls may come in any order, and flush() repeatedly;
//  * a run may follow another one, with the same sink or with a new one;
//  * values of reports and of evaluations, if they can be read, exist after flush(), with several
//    evaluation sets kept apart;
//  * a run replaces earlier values of the same step (SinkStart): values of steps after the first
//    step of the run, and values of the first step itself that the checkpoint does not include;
//  * a sink that shows the last numbers shows no number of earlier reports and evaluations;
//  * a sink that holds figures holds all of them.
std::vector<Property> sink_properties(const SinkConformance& conformance);

// Registers the properties as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kQueue = register_sink_conformance(
//       "Queue", {.make = [](const SinkInput& input) { return make_queue(input); }});
bool register_sink_conformance(const std::string& suite, const SinkConformance& conformance,
                               std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CONFORMANCE_H_
