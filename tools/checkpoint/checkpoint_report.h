// What `millrace checkpoint list` and `show` print.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// "full" for all parts, "model" for DENSE and ROWS at most, else their names: "dense+row_state".
std::string parts_text(const CheckpointManifest& manifest);

// Marks deltas as damaged whose base is missing, damaged or another. REQUIRES: by ascending step.
void check_bases(std::vector<ListedCheckpoint>& checkpoints);

// A table, one line for each checkpoint, or "no checkpoints". Damaged ones say what is wrong.
std::string list_text(const std::vector<ListedCheckpoint>& checkpoints);

// A JSON array with an object for each: step, path, status ("ok" or "damaged"), error, and of
// whole ones created, finished, size, parts, base, metrics, content_digest.
std::string list_json(const std::vector<ListedCheckpoint>& checkpoints);

// All that the manifest says, for people.
std::string show_text(const CheckpointReader& checkpoint);

// The same as one JSON object; docs/checkpoint_command.md says what its fields are. Numbers are
// numbers; those that are not finite are null.
std::string show_json(const CheckpointReader& checkpoint);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_
