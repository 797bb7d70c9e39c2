// The memory of a trainer, by part.
#ifndef MILLRACE_TOOLS_MEMORY_REPORT_H_
#define MILLRACE_TOOLS_MEMORY_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

class Trainer;

// Returns a table of text: the bytes of dense parameters and of their optimizer state, of each
// table with its rows, and the rest of the memory of this process: the program, its libraries,
// batches that were read ahead, activations. Tables have their rows of this rank.
std::string memory_text(Trainer& trainer);

// Returns memory_text() and what to reduce, if `status` is a failure for lack of memory; else "".
std::string out_of_memory_text(const absl::Status& status, Trainer& trainer);

// Parses "TABLE=NUMBER", such as "items=1e8". Errors: InvalidArgument.
absl::StatusOr<std::pair<std::string, int64_t>> parse_rows(absl::string_view text);

// Returns a line for each table of `rows` (table → number of rows): the memory that the table takes
// at most with so many rows more than without, as limit.max_bytes counts it. Errors: NotFound
// naming the nearest table.
absl::StatusOr<std::string> memory_of_rows(const Trainer& trainer,
                                           const std::map<std::string, int64_t>& rows);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MEMORY_REPORT_H_
