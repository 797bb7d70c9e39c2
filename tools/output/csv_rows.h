// Arrow's columns as delimited text (RFC 4180, lines end with a line feed). Include only in .cc
// files.
#ifndef MILLRACE_TOOLS_OUTPUT_CSV_ROWS_H_
#define MILLRACE_TOOLS_OUTPUT_CSV_ROWS_H_

#include <arrow/record_batch.h>
#include <arrow/status.h>
#include <arrow/type.h>

#include <string>

namespace millrace {

// Appends the line of names.
void append_csv_header(const arrow::Schema& schema, std::string& text);

// Appends a line per row. Numbers are read back with the same bits. A missing value is an empty
// cell. Text is quoted if it contains a comma, a quote or an end of line, or is empty.
// Errors: NotImplemented for columns other than int64, uint64, float, double and utf8.
arrow::Status append_csv_rows(const arrow::RecordBatch& rows, std::string& text);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_CSV_ROWS_H_
