// The cadences of evaluation sets.
#ifndef MILLRACE_JOB_EVALUATION_CADENCE_H_
#define MILLRACE_JOB_EVALUATION_CADENCE_H_

#include "absl/strings/string_view.h"
#include "hook/cadence.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the cadence of an evaluation set without windows: its entry in `evaluation.set`, else
// `evaluation.when`, by default at the end.
Cadence evaluation_cadence(const EvaluationConfig& evaluation, absl::string_view set);

}  // namespace millrace

#endif  // MILLRACE_JOB_EVALUATION_CADENCE_H_
