// The summary of a run as JSON.
#ifndef MILLRACE_TOOLS_OUTPUT_SUMMARY_JSON_H_
#define MILLRACE_TOOLS_OUTPUT_SUMMARY_JSON_H_

#include <string>

#include "framework/report/summary.h"
#include "job/data_report.h"

namespace millrace {

// Returns an object with a final newline. Fields: outcome (completed, stopped, failed),
// stop_reason, error, steps, epochs, windows, examples, skipped_steps, skipped_examples, seconds,
// examples_per_second (of this run), world_size, train (metric → number), eval (the same;
// "set/metric" for sets not named "eval"), best (null, or the best score, its step and the path of
// that step's checkpoint, or ""), rows (table → count), checkpoint (path of the newest, or ""),
// hooks (name → seconds, errors, first_error, disabled, events: name → calls and seconds; of this
// run, on rank 0). With `data` also data (train_data or eval_data "NAME" → files, rows, bad_files:
// number of omitted files, bad_file_names: the first 100). Not-a-number is null.
std::string summary_json(const Summary& summary, const DataReport* data = nullptr);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_SUMMARY_JSON_H_
