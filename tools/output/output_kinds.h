// The kinds of files that commands write where a user says.
#ifndef MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_
#define MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_

#include "tools/output/output_file.h"

namespace millrace {

// Of --summary: one JSON object with the fields of every summary.
OutputKind summary_kind();

// Of predict: Parquet or delimited text that begins with the columns of predictions.
OutputKind predictions_kind();

// Of export: TorchScript with the description that write_model_script adds.
OutputKind script_kind();

// Of bench: lines that to_json_line makes.
OutputKind measurements_kind();

// Of config plot: SVG that svg_of makes.
OutputKind chart_kind();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_OUTPUT_KINDS_H_
