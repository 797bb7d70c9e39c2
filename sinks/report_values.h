// The numbers of reports and evaluations, by name.
#ifndef MILLRACE_SINKS_REPORT_VALUES_H_
#define MILLRACE_SINKS_REPORT_VALUES_H_

#include <string>
#include <utility>
#include <vector>

#include "hook/events.h"

namespace millrace {

// Name → value, names all different.
using NamedNumbers = std::vector<std::pair<std::string, double>>;

// Returns all numbers of a report except its progress, in an order that depends only on the names:
// kRateFigures (framework/report/report_figures.h); metrics by their names; "values/NAME",
// "learning_rate/NAME", "table/TABLE/rows" and the like, "ranks/owners_share" and the like,
// "process/cores" and the like.
NamedNumbers values_of(const Report& report);

// Returns kEvaluationFigures, metrics by their names and "values/NAME".
NamedNumbers values_of(const EvaluationResult& result);

}  // namespace millrace

#endif  // MILLRACE_SINKS_REPORT_VALUES_H_
