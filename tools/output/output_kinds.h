// The kinds of files that commands write to user-specified paths.
#ifndef MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_
#define MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_

#include "tools/output/output_file.h"

namespace millrace {

// Files of --summary: a JSON object with the fields of every summary.
OutputKind summary_kind();

// Files of predict: Parquet or delimited text that begins with the columns of predictions.
OutputKind predictions_kind();

// Files of export: TorchScript with the description that write_model_script adds.
OutputKind script_kind();

// Files of bench: lines of to_json_line.
OutputKind measurements_kind();

// Files of config plot: SVG of svg_of.
OutputKind chart_kind();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_
