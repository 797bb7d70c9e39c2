#include "checkpoint/folder/checkpoint_list.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/name_path.h"

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

ListedCheckpoint look_at(FileSystem& files, int64_t step, const std::string& path) {
  ListedCheckpoint listed{step, path, nullptr, absl::OkStatus()};
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader = CheckpointReader::open(files, path);
  if (!reader.ok()) {
    listed.status = reader.status();
    absl::StatusOr<CheckpointManifest> manifest = CheckpointReader::read_manifest(files, path);
    if (manifest.ok()) listed.manifest = *std::move(manifest);
  } else if ((*reader)->manifest().progress().step() != step) {
    listed.manifest = (*reader)->manifest();
    listed.status = absl::DataLossError(
        absl::StrCat(path, " is a checkpoint of step ", listed.manifest->progress().step()));
  } else {
    listed.reader = *std::move(reader);
  }
  return listed;
}

absl::Status verify_chain(CheckpointChain chain, ThreadPool& threads) {
  for (const auto& reader : chain) RETURN_IF_ERROR(reader->verify(threads));
  return absl::OkStatus();
}

// Checks that `base` is the checkpoint that the delta `of` names as its base.
absl::Status check_base(const CheckpointReader& of, const CheckpointReader& base) {
  const CheckpointManifest& manifest = base.manifest();
  const CheckpointManifest::Base& due = of.manifest().base();
  const int depth = manifest.has_base() ? manifest.base().depth() : 0;
  if (manifest.digest() == due.digest() && depth + 1 == due.depth()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(of.directory(), " is a delta: ", base.directory(), " is another checkpoint"));
}

absl::Status missing_base(const CheckpointReader& of, const absl::Status& status) {
  return annotate(absl::IsNotFound(status) ? absl::DataLossError(status.message()) : status,
                  absl::StrCat(of.directory(), " is a delta"));
}

std::string base_path(const CheckpointReader& of) {
  return join_path(directory_of(of.directory()), checkpoint_name(of.manifest().base().step()));
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
    const CheckpointReader& of = *chain.back();
    absl::StatusOr<std::unique_ptr<CheckpointReader>> next =
        CheckpointReader::open(files, base_path(of));
    if (!next.ok()) return missing_base(of, next.status());
    RETURN_IF_ERROR(check_base(of, **next));
    chain.push_back(*std::move(next));
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::vector<std::string> newest_first(absl::Span<const ListedCheckpoint> checkpoints) {
  std::vector<std::string> paths;
  for (const ListedCheckpoint& listed : checkpoints) paths.push_back(listed.path);
  std::reverse(paths.begin(), paths.end());
  return paths;
}

bool is_damage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

absl::StatusOr<std::vector<size_t>> listed_chain(absl::Span<const ListedCheckpoint> checkpoints,
                                                 size_t index) {
  RETURN_IF_ERROR(checkpoints[index].status);
  std::vector<size_t> chain = {index};
  while (checkpoints[chain.back()].reader->manifest().has_base()) {
    const CheckpointReader& of = *checkpoints[chain.back()].reader;
    const std::string path = base_path(of);
    const auto base =
        std::find_if(checkpoints.begin(), checkpoints.end(),
                     [&](const ListedCheckpoint& listed) { return listed.path == path; });
    if (base == checkpoints.end()) {
      return missing_base(of, absl::NotFoundError(absl::StrCat(path, " is missing")));
    }
    if (base->reader == nullptr) return missing_base(of, base->status);
    RETURN_IF_ERROR(check_base(of, *base->reader));
    chain.push_back(base - checkpoints.begin());
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

absl::StatusOr<NewestSearch> search_newest(absl::Span<const std::string> paths, OnDamage on_damage,
                                           TryCheckpoint use) {
  NewestSearch search;
  for (size_t i = 0; i < paths.size(); ++i) {
    const absl::StatusOr<bool> sought = use(i);
    if (sought.ok()) {
      if (!*sought) continue;
      search.found = i;
      break;
    }
    absl::Status named = name_path(sought.status(), paths[i]);
    if (!is_damage(named) || on_damage == OnDamage::kStrict) return named;
    search.damaged.push_back(std::move(named));
  }
  return search;
}

absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   const UseChain& use) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  NewestCheckpoint newest;
  const auto open = [&](size_t i) -> absl::StatusOr<bool> {
    const ListedCheckpoint& listed = checkpoints[checkpoints.size() - 1 - i];
    RETURN_IF_ERROR(listed.status);
    ASSIGN_OR_RETURN(auto chain, open_chain(files, listed.path));
    RETURN_IF_ERROR(use(chain));
    newest.chain = std::move(chain);
    return true;
  };
  ASSIGN_OR_RETURN(NewestSearch search,
                   search_newest(newest_first(checkpoints), OnDamage::kFallback, open));
  newest.damaged = std::move(search.damaged);
  return newest;
}

absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   Check check, ThreadPool& threads) {
  return newest_checkpoint(files, folder, [&](CheckpointChain chain) {
    return check == Check::kFull ? verify_chain(chain, threads) : absl::OkStatus();
  });
}

absl::StatusOr<std::vector<size_t>> find_newest(absl::Span<const ListedCheckpoint> checkpoints,
                                                Check check, ThreadPool& threads,
                                                std::vector<absl::Status>* damaged) {
  std::vector<size_t> newest;
  const auto verify = [&](size_t i) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(std::vector<size_t> chain,
                     listed_chain(checkpoints, checkpoints.size() - 1 - i));
    for (const size_t part : chain) {
      if (check == Check::kFull) RETURN_IF_ERROR(checkpoints[part].reader->verify(threads));
    }
    newest = std::move(chain);
    return true;
  };
  ASSIGN_OR_RETURN(const NewestSearch search,
                   search_newest(newest_first(checkpoints), OnDamage::kFallback, verify));
  damaged->insert(damaged->end(), search.damaged.begin(), search.damaged.end());
  return newest;
}

}  // namespace millrace
