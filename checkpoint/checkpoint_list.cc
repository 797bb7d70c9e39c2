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

// Whether `base` is what the delta `of` says that it changes.
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

// One that is listed and what it needs, by their indices, the whole one last.
absl::StatusOr<std::vector<size_t>> chain_of(const std::vector<ListedCheckpoint>& checkpoints,
                                             size_t newest) {
  RETURN_IF_ERROR(checkpoints[newest].status);
  std::vector<size_t> chain = {newest};
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
  return chain;
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

bool is_damage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

std::vector<size_t> find_newest(const std::vector<ListedCheckpoint>& checkpoints, Check check,
                                ThreadPool& threads, std::vector<absl::Status>* damaged) {
  for (size_t i = checkpoints.size(); i-- > 0;) {
    absl::StatusOr<std::vector<size_t>> chain = chain_of(checkpoints, i);
    absl::Status status = chain.status();
    if (status.ok()) {
      std::reverse(chain->begin(), chain->end());
      for (const size_t part : *chain) {
        if (check == Check::kFull) status.Update(checkpoints[part].reader->verify(threads));
      }
      if (status.ok()) return *std::move(chain);
    }
    damaged->push_back(name_path(std::move(status), checkpoints[i].path));
  }
  return {};
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
