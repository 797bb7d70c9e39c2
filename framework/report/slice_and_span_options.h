// Options of the metrics of slices and of spans.
#ifndef MILLRACE_FRAMEWORK_REPORT_SLICE_AND_SPAN_OPTIONS_H_
#define MILLRACE_FRAMEWORK_REPORT_SLICE_AND_SPAN_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace millrace {

// A feature whose ids each have metrics (SliceConfig). See SliceMetrics.
struct SliceOptions {
  std::string name;                  // name of the feature in reports
  int64_t feature = 0;               // index of the feature in Batch::sparse
  std::vector<int64_t> ids = {};     // ids that have a slice; empty: the smallest ids
  int64_t max_ids = 10;              // without `ids`: maximum number of ids with a slice
  std::vector<std::string> metrics;  // names of metrics
  // Names of ids in reports. Default: the id itself.
  std::map<int64_t, std::string> id_names = {};
};

// The spans of training with metrics of their own. See SpanMetrics.
struct SpanOptions {
  std::vector<ReportConfig::Span> spans = {};  // all different
  int64_t moving_reports = 10;                 // span of MOVING; at least 2
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SLICE_AND_SPAN_OPTIONS_H_
