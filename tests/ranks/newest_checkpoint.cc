#include "tests/ranks/newest_checkpoint.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"

namespace millrace {

absl::StatusOr<std::string> content_of_newest(FileSystem& files, const std::string& folder) {
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(const auto listed, list_checkpoints(files, folder));
  if (listed.empty()) return absl::NotFoundError("no checkpoint");
  RETURN_IF_ERROR(listed.back().status);
  const CheckpointReader& reader = *listed.back().reader;
  RETURN_IF_ERROR(reader.verify(threads));
  const CheckpointManifest& manifest = reader.manifest();
  std::string text = absl::StrCat("step ", manifest.progress().step());
  std::vector<std::string> lines;
  for (const auto& digest : manifest.content_digests()) {
    lines.push_back(absl::StrCat(digest.name(), " ", digest.digest()));
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) absl::StrAppend(&text, ", ", line);
  for (const auto& table : manifest.tables()) {
    absl::StrAppend(&text, ", ", table.rows(), " rows, state ", table.state_digest(), ", log from ",
                    table.evicted_log_begins());
  }
  return text;
}

}  // namespace millrace
