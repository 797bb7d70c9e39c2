// Metrics of training over more than one report.
#ifndef MILLRACE_FRAMEWORK_REPORT_SPAN_METRICS_H_
#define MILLRACE_FRAMEWORK_REPORT_SPAN_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/report/metric_set.h"
#include "framework/report/slice_and_span_options.h"
#include "proto/checkpoint_state.pb.h"
#include "proto/config.pb.h"

namespace millrace {

// The epoch and the window of a training step, as the numbers of epochs and windows finished
// before.
struct SpanPosition {
  int64_t epoch = 0;
  int64_t window = 0;
};

// Returns "window", "epoch", "total" or "moving".
std::string span_name(ReportConfig::Span span);
// Returns true for a name that span_name() returns.
bool is_span_name(absl::string_view name);

// The loss and the metrics of training over spans longer than a report: the current window or
// epoch, the whole job, or the last reports. Metrics that keep every example exist only for MOVING,
// so that an endless job does not run out of memory. Slices have no spans. Every rank adds the same
// reports, so all ranks have the same values. Not thread-safe.
class SpanMetrics {
 public:
  // Creates the spans. Errors: as MetricSet::create().
  static absl::StatusOr<SpanMetrics> create(const SpanOptions& options,
                                            const std::vector<std::string>& metrics,
                                            const std::vector<std::string>& tasks,
                                            absl::Span<const CustomConfig> configs);

  // Returns true if any span exists.
  bool active() const { return !entries_.empty(); }

  // Returns true if a span keeps the examples of reports.
  bool keeps_examples() const;

  // Adds the metrics of a report, merged over all ranks, whose steps belong to `position`. If the
  // window or epoch differs from the last report's, its span begins with this report.
  void add(const MetricSet& report, SpanPosition position);

  // Adds "SPAN/METRIC" → value for each span, loss included.
  void compute(std::map<std::string, double>& values) const;

  // Sets ReportState::span.
  void save(ReportState& state) const;
  // Replaces the content by the output of save(). A span that `state` omits becomes empty. Errors:
  // as MetricSet::load_ranks(), annotated; all spans are empty then.
  absl::Status load(const ReportState& state);

 private:
  struct Entry {
    ReportConfig::Span span;
    int64_t number = 0;                 // of the window or epoch
    std::vector<MetricSet> parts = {};  // MOVING: one per report, the oldest first; otherwise one
  };

  absl::StatusOr<MetricSet> make(ReportConfig::Span span) const;
  MetricSet make_checked(ReportConfig::Span span) const;
  absl::Status load_entry(const SpanState& state, Entry& entry) const;
  void clear();

  SpanOptions options_;
  std::vector<std::string> metrics_, tasks_;
  std::vector<CustomConfig> configs_;
  std::vector<Entry> entries_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SPAN_METRICS_H_
