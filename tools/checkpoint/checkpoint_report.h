// The output of `millrace checkpoint list` and `show`.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Returns "full" for all parts, "model" for only DENSE and ROWS, else the names: "dense+row_state".
std::string parts_text(const CheckpointManifest& manifest);

// Marks deltas as damaged if the base is missing, damaged or different. REQUIRES: by ascending
// step.
void check_bases(std::vector<ListedCheckpoint>& checkpoints);

// Returns a table with a line per checkpoint, or "no checkpoints". Damaged checkpoints show the
// damage.
std::string list_text(const std::vector<ListedCheckpoint>& checkpoints);

// Returns a JSON array with an object per checkpoint: step, path, status ("ok" or "damaged"),
// error, and for intact checkpoints created, finished, size, parts, base, metrics, content_digest.
std::string list_json(const std::vector<ListedCheckpoint>& checkpoints);

// Returns the content of the manifest, for people.
std::string show_text(const CheckpointReader& checkpoint);

// Returns the same content as a JSON object; docs/checkpoint_command.md describes its fields.
// Numbers that are not finite are null.
std::string show_json(const CheckpointReader& checkpoint);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REPORT_H_
