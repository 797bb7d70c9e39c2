#include "checkpoint/checkpoint_list.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_names.h"
#include "checkpoint/name_path.h"

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

ListedCheckpoint look_at(FileSystem& files, int64_t step, const std::string& path) {
  ListedCheckpoint listed{step, path, nullptr, absl::OkStatus()};
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader = CheckpointReader::open(files, path);
  if (!reader.ok()) {
    listed.status = reader.status();
  } else if ((*reader)->manifest().progress().step() != step) {
    listed.status = absl::DataLossError(
        absl::StrCat(path, " is a checkpoint of step ", (*reader)->manifest().progress().step()));
  } else {
    listed.reader = *std::move(reader);
  }
  return listed;
}

absl::Status verify_chain(CheckpointChain chain, ThreadPool& threads) {
  for (const auto& reader : chain) RETURN_IF_ERROR(reader->verify(threads));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ListedCheckpoint>> list_checkpoints(FileSystem& files,
                                                               const std::string& folder) {
  absl::StatusOr<std::vector<DirectoryEntry>> entries = files.list(folder);
  std::vector<ListedCheckpoint> checkpoints;
  if (absl::IsNotFound(entries.status())) return checkpoints;
  RETURN_IF_ERROR(entries.status());
  std::map<int64_t, std::vector<std::string>> current, old;  // names by step
  for (const DirectoryEntry& entry : *entries) {
    const auto name = parse_checkpoint_name(entry.name);
    if (!name || entry.kind == FileKind::kRegular) continue;
    if (name->kind == Kind::kCheckpoint) current[name->step].push_back(entry.name);
    if (name->kind == Kind::kOld) old[name->step].push_back(entry.name);
  }
  for (auto& [step, names] : old) {
    if (current.count(step) == 0) current[step] = std::move(names);
  }
  for (const auto& [step, names] : current) {
    for (const std::string& name : names) {
      checkpoints.push_back(look_at(files, step, join_path(folder, name)));
    }
  }
  return checkpoints;
}

absl::StatusOr<std::vector<std::unique_ptr<CheckpointReader>>> open_chain(FileSystem& files,
                                                                          const std::string& path) {
  std::vector<std::unique_ptr<CheckpointReader>> chain;
  ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::open(files, path));
  chain.push_back(std::move(reader));
  while (chain.back()->manifest().has_base()) {
    const CheckpointManifest::Base& base = chain.back()->manifest().base();
    const std::string base_path = join_path(directory_of(path), checkpoint_name(base.step()));
    const std::string of = absl::StrCat(chain.back()->directory(), " is a delta");
    absl::StatusOr<std::unique_ptr<CheckpointReader>> next =
        CheckpointReader::open(files, base_path);
    if (!next.ok()) {
      const bool gone = absl::IsNotFound(next.status());
      return annotate(gone ? absl::DataLossError(next.status().message()) : next.status(), of);
    }
    const CheckpointManifest& manifest = (*next)->manifest();
    const int depth = manifest.has_base() ? manifest.base().depth() : 0;
    if (manifest.digest() != base.digest() || depth + 1 != base.depth()) {
      return absl::DataLossError(absl::StrCat(of, ": ", base_path, " is another checkpoint"));
    }
    chain.push_back(*std::move(next));
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool is_damage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   Check check, ThreadPool& threads) {
  return newest_checkpoint(files, folder, [&](CheckpointChain chain) {
    return check == Check::kFull ? verify_chain(chain, threads) : absl::OkStatus();
  });
}

absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   const UseChain& use) {
  ASSIGN_OR_RETURN(std::vector<ListedCheckpoint> checkpoints, list_checkpoints(files, folder));
  NewestCheckpoint newest;
  for (auto listed = checkpoints.rbegin(); listed != checkpoints.rend(); ++listed) {
    absl::Status status = listed->status;
    if (status.ok()) {
      auto chain = open_chain(files, listed->path);
      status = chain.status();
      if (status.ok()) {
        status = use(*chain);
        if (status.ok()) {
          newest.chain = *std::move(chain);
          return newest;
        }
        if (!is_damage(status)) return status;
      }
    }
    newest.damaged.push_back(name_path(std::move(status), listed->path));
  }
  return newest;
}

}  // namespace millrace
