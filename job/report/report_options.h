// Options of reports and evaluations from a configuration.
#ifndef MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_
#define MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/slice_metrics.h"
#include "framework/report/span_metrics.h"
#include "hook/cadence.h"
#include "io/feature_schema.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns train.slice, with the ids of its texts. `files` holds vocabularies. `unmade`: if not
// null, a slice whose vocabulary is missing lacks its texts and is named there with the reason.
// Errors: InvalidArgument for a feature that `schema` does not have or that makes no ids of text,
// and for a text that has the id of another slice; NotFound for a text outside the vocabulary;
// errors of TextIds.
absl::StatusOr<std::vector<SliceOptions>> slice_options(const TrainConfig& train,
                                                        const FeatureSchema& schema,
                                                        FileSystem& files,
                                                        std::vector<std::string>* unmade = nullptr);

// Returns run.report.span.
SpanOptions span_options(const ReportConfig& report);

// Returns the cadence of training reports: run.report.when, or `otherwise` if it is not set, and
// the end of each window or epoch that is a span.
Cadence report_cadence(const ReportConfig& report, const Cadence& otherwise);

}  // namespace millrace

#endif  // MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_
