#include "bench/embedding/embedding_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/path/file_sizes.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/folder/outside_checkpoints.h"

namespace millrace {
namespace {

constexpr char kList[] = ".bench_embedding";
// The first line. A line for each file follows, with its size in bytes.
constexpr char kListText[] = "Files of `millrace bench embedding`.\n";
constexpr int64_t kMaxListBytes = 4096;

absl::Status refuse(const std::string& path, absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", why));
}

}  // namespace

absl::StatusOr<EmbeddingFiles> EmbeddingFiles::open(FileSystem& files, const std::string& directory,
                                                    const std::vector<std::string>& names,
                                                    bool overwrite) {
  RETURN_IF_ERROR(check_shell_path(directory));
  const absl::StatusOr<FileInfo> info = files.info(directory);
  if (!info.ok() || !info->is_directory) {
    return refuse(directory, "there is no such directory; make it, or choose another");
  }
  RETURN_IF_ERROR(check_outside_checkpoints(files, directory));
  EmbeddingFiles result(files, directory);
  result.read_list();
  for (const std::string& name : names) {
    if (!overwrite) RETURN_IF_ERROR(result.check(name));
  }
  return result;
}

void EmbeddingFiles::read_list() {
  const std::string path = join_path(directory_, kList);
  const absl::StatusOr<FileInfo> info = files_.info(path);
  if (!info.ok() || info->kind != FileKind::kRegular || info->size_bytes > kMaxListBytes) return;
  const absl::StatusOr<std::string> text = read_file(files_, path);
  if (!text.ok()) return;
  absl::string_view lines = *text;
  if (!absl::ConsumePrefix(&lines, kListText)) return;
  sizes_ = parse_file_sizes(lines);
}

absl::Status EmbeddingFiles::check(const std::string& name) const {
  const std::string path = join_path(directory_, name);
  const absl::StatusOr<FileInfo> there = files_.info(path);
  if (!there.ok()) return absl::OkStatus();
  if (there->is_directory) return refuse(path, "it is a directory; choose another --data");
  const auto own = sizes_.find(name);
  const bool is_own = own != sizes_.end() && own->second == there->size_bytes;
  if (there->size_bytes == 0 || is_own) return absl::OkStatus();
  return refuse(path,
                "it is there already and not written by this benchmark; choose another directory, "
                "or replace it with --overwrite");
}

absl::Status EmbeddingFiles::write(const std::string& name, absl::string_view bytes) {
  RETURN_IF_ERROR(write_file_atomically(files_, join_path(directory_, name), bytes));
  sizes_[name] = static_cast<int64_t>(bytes.size());
  return write_file_atomically(files_, join_path(directory_, kList),
                               absl::StrCat(kListText, file_sizes_text(sizes_)));
}

}  // namespace millrace
