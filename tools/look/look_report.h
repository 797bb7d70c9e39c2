// The output of `millrace data`.
#ifndef MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_
#define MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_

#include <string>

#include "io/look/data_look.h"

namespace millrace {

// Returns lines for people of at most 80 columns: the files, a table of the columns, the label by
// file, and leakage. Long names and paths are shortened to distinct texts (short_names()); long
// paths lose the common directories.
std::string look_text(const DataLook& look);

// Returns a JSON object; docs/first_job.md describes its fields.
std::string look_json(const DataLook& look);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_
