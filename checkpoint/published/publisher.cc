#include "checkpoint/published/publisher.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%E3SZ";  // as in events.jsonl
constexpr int64_t kCopyBytes = 8 << 20;
// Saving a checkpoint again while it is copied looks like damage.
constexpr int kMostTries = 3;
// Entries of versions that are not served any more; older ones leave the list.
constexpr int kMostOldEntries = 1000;

std::optional<double> metric_of(const CheckpointManifest& manifest, const std::string& name) {
  for (const CheckpointManifest::Metric& metric : manifest.metrics()) {
    if (metric.name() == name) return metric.value();
  }
  return std::nullopt;
}

// Copies a file, as a second name of the same bytes where the file system has that.
absl::Status copy_file(FileSystem& files, const std::string& from, const std::string& to) {
  if (!is_uri(from) && !is_uri(to) && link_file(files, from, to).ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> in, files.open(from));
  ASSIGN_OR_RETURN(const std::unique_ptr<PositionedFile> out,
                   files.create_new(to, in->size_bytes()));
  std::string buffer;
  for (int64_t offset = 0; offset < in->size_bytes();) {
    buffer.resize(std::min(kCopyBytes, in->size_bytes() - offset));
    ASSIGN_OR_RETURN(const int64_t count, in->read_at(offset, buffer.size(), buffer.data()));
    if (count == 0) return absl::DataLossError(absl::StrCat(from, " became shorter"));
    RETURN_IF_ERROR(out->write_at(offset, absl::string_view(buffer.data(), count)));
    offset += count;
  }
  RETURN_IF_ERROR(out->sync());
  return out->close();
}

absl::Status write_file(FileSystem& files, const std::string& path, absl::string_view text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PositionedFile> file, files.create_new(path, text.size()));
  RETURN_IF_ERROR(file->write_at(0, text));
  RETURN_IF_ERROR(file->sync());
  return file->close();
}

bool has_same_digest(FileSystem& files, const std::string& path, const std::string& digest) {
  const auto manifest = CheckpointReader::read_manifest(files, path);
  return manifest.ok() && manifest->digest() == digest;
}

}  // namespace

Publisher::Publisher(FileSystem& files, const Clock& clock, std::string folder, PublishRules rules)
    : files_(files),
      clock_(clock),
      folder_(std::move(folder)),
      rules_(std::move(rules)),
      token_(new_nonce()) {}

absl::Status Publisher::begin() {
  if (lock_ != nullptr) return absl::OkStatus();
  absl::StatusOr<PublishedVersions> versions = read_versions(files_, folder_);
  if (absl::IsNotFound(versions.status())) {
    RETURN_IF_ERROR(check_empty());
    versions = PublishedVersions();
    versions->set_run(rules_.run);
  }
  RETURN_IF_ERROR(versions.status());
  RETURN_IF_ERROR(check_run(*versions));
  ASSIGN_OR_RETURN(std::unique_ptr<DirectoryLock> lock,
                   DirectoryLock::acquire(files_, folder_, clock_, token_), "run.places.published");
  // Another run may have come first.
  absl::StatusOr<PublishedVersions> now = read_versions(files_, folder_);
  if (!absl::IsNotFound(now.status())) versions = std::move(now);
  RETURN_IF_ERROR(versions.status());
  RETURN_IF_ERROR(check_run(*versions));
  RETURN_IF_ERROR(clean_up(files_, folder_, token_).status());
  versions_ = *std::move(versions);
  lock_ = std::move(lock);
  return absl::OkStatus();
}

absl::Status Publisher::check_run(const PublishedVersions& versions) const {
  if (versions.run() == rules_.run) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(folder_,
                   " has versions of another run; set run.places.published to another "
                   "folder, or remove this one"));
}

// Checks that a folder without a list has nothing that retention could take for a version.
absl::Status Publisher::check_empty() const {
  const auto entries = files_.list(folder_);
  if (absl::IsNotFound(entries.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    const auto name = parse_checkpoint_name(entry.name);
    // A publisher that was killed before its first list leaves these.
    const bool is_unfinished = name.has_value() && name->kind == CheckpointName::Kind::kTemporary;
    const bool is_own = entry.name == "lock" || entry.name == kFilesFolder ||
                        entry.name == kPinnedName || entry.name == "newest";
    if (is_unfinished || is_own) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(folder_, " has ", entry.name, " and no ", kVersionsName,
                     ": versions are published to a new folder; set run.places.published to one"));
  }
  return absl::OkStatus();
}

// Returns why a value is refused; "" if it is not.
absl::StatusOr<std::string> Publisher::refusal(double value) {
  if (!std::isfinite(value)) return absl::StrCat(rules_.monitor, " is ", value);
  // Compares with the pinned version, or without one, or if it is gone, with the current version.
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> pinned, read_pinned(files_, folder_));
  const PublishedVersions::Version* before =
      pinned.has_value() ? find_published(versions_, pinned->step()) : nullptr;
  if (before == nullptr && versions_.has_current_step()) {
    before = find_published(versions_, versions_.current_step());
  }
  if (before == nullptr || !before->has_value() || versions_.monitor() != rules_.monitor) return "";
  const double worse = rules_.higher_is_better ? before->value() - value : value - before->value();
  if (worse <= rules_.most_worse) return "";
  return absl::StrCat(rules_.monitor, " is ", value, ", worse by ", worse, " than ",
                      before->value(), " of the served step ", before->step(), "; at most ",
                      rules_.most_worse, " is allowed (most_worse)");
}

absl::StatusOr<PublishOutcome> Publisher::offer(const std::string& checkpoint,
                                                const std::string& data_time) {
  RETURN_IF_ERROR(begin());
  absl::StatusOr<PublishOutcome> outcome;
  for (int tries = 0; tries < kMostTries; ++tries) {
    outcome = offer_once(checkpoint, data_time);
    if (!is_damage(outcome.status())) break;
  }
  if (outcome.ok() && outcome->kind == PublishOutcome::kPublished) {
    outcome->retention = remove_old();
  }
  return outcome;
}

absl::StatusOr<PublishOutcome> Publisher::offer_once(const std::string& checkpoint,
                                                     const std::string& data_time) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, checkpoint));
  const CheckpointManifest& manifest = chain.back()->manifest();
  const int64_t step = manifest.progress().step();
  for (const PublishedVersions::Version& decided : versions_.versions()) {
    if (decided.step() == step && decided.digest() == manifest.digest()) return PublishOutcome();
  }
  const std::optional<double> value = metric_of(manifest, rules_.monitor);
  if (!rules_.monitor.empty() && !value.has_value()) return PublishOutcome();
  if (versions_.has_current_step() && step < versions_.current_step()) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder_, " has version ", versions_.current_step(), ", which is after step ", step,
        ": another run published there, or this one went back; set "
        "run.places.published to another folder"));
  }

  PublishedVersions::Version version;
  version.set_step(step);
  version.set_digest(manifest.digest());
  if (manifest.has_base()) version.set_base_step(manifest.base().step());
  version.set_bytes(total_bytes(manifest));
  version.set_window(manifest.progress().window());
  if (!data_time.empty()) version.set_data_time(data_time);
  if (value.has_value()) {
    version.set_value(*value);
    ASSIGN_OR_RETURN(const std::string reason, refusal(*value));
    if (!reason.empty()) {
      version.set_state(PublishedVersions::REFUSED);
      version.set_reason(reason);
      RETURN_IF_ERROR(append(std::move(version)));
      return PublishOutcome{PublishOutcome::kRefused, reason};
    }
  }
  RETURN_IF_ERROR(copy_referred(manifest));
  RETURN_IF_ERROR(drop_dependents(chain));
  PublishOutcome outcome{PublishOutcome::kPublished};
  for (const auto& part : chain) {
    ASSIGN_OR_RETURN(const int64_t bytes, copy_checkpoint(*part));
    outcome.copied_bytes += bytes;
  }
  version.set_state(PublishedVersions::PUBLISHED);
  RETURN_IF_ERROR(append(std::move(version)));
  return outcome;
}

// Removes versions from the list whose files copies of `chain` will replace: training resumed from
// an earlier checkpoint with other results.
absl::Status Publisher::drop_dependents(CheckpointChain chain) {
  std::set<int64_t> replaced;  // steps
  for (const auto& part : chain) {
    const int64_t step = part->manifest().progress().step();
    const std::string to = join_path(folder_, checkpoint_name(step));
    const auto there = CheckpointReader::read_manifest(files_, to);
    const bool differs = there.ok() && there->digest() != part->manifest().digest();
    if (differs) replaced.insert(step);
  }
  if (replaced.empty()) return absl::OkStatus();
  const int64_t published = chain.back()->manifest().progress().step();
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> pinned, read_pinned(files_, folder_));
  PublishedVersions next = versions_;
  bool drops = false;
  for (PublishedVersions::Version& version : *next.mutable_versions()) {
    const bool is_published = version.state() == PublishedVersions::PUBLISHED;
    if (!is_published || version.step() == published) continue;
    const auto own = open_chain(files_, join_path(folder_, checkpoint_name(version.step())));
    if (!own.ok()) continue;
    const bool needs = std::any_of(own->begin(), own->end(), [&](const auto& part) {
      return replaced.contains(part->manifest().progress().step());
    });
    if (!needs) continue;
    if (pinned.has_value() && pinned->step() == version.step()) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder_, ": the pinned version ", version.step(), " needs files of step ",
                       *replaced.begin(),
                       ", which was trained again with another result; run `millrace "
                       "publish resume`"));
    }
    version.set_state(PublishedVersions::REMOVED);
    if (version.step() == next.current_step()) next.clear_current_step();
    drops = true;
  }
  return drops ? write(std::move(next)) : absl::OkStatus();
}

// Replaces the list.
absl::Status Publisher::write(PublishedVersions next) {
  int old = 0;
  for (int i = next.versions_size() - 1; i >= 0; --i) {
    if (next.versions(i).state() == PublishedVersions::PUBLISHED) continue;
    if (++old > kMostOldEntries) next.mutable_versions()->DeleteSubrange(i, 1);
  }
  RETURN_IF_ERROR(check_owner(files_, folder_, token_));
  RETURN_IF_ERROR(write_versions(files_, folder_, next));
  versions_ = std::move(next);
  return absl::OkStatus();
}

// Copies the files that transforms read. Servers do not need the others.
absl::Status Publisher::copy_referred(const CheckpointManifest& manifest) {
  TrainConfig train;
  std::map<std::string, std::vector<std::string>> written;  // absolute path -> as the job has it
  if (parse_text(manifest.config(), "the configuration of the checkpoint", &train).ok()) {
    ASSIGN_OR_RETURN(const auto users, files_of_transforms(train));
    for (const auto& [path, used_by] : users) written[absolute_path(path)].push_back(path);
  }
  for (const CheckpointManifest::ReferredFile& file : manifest.referred_files()) {
    const bool is_read = std::any_of(file.used_by().begin(), file.used_by().end(),
                                     [](auto& user) { return absl::StartsWith(user, "feature/"); });
    const bool is_there =
        std::any_of(versions_.files().begin(), versions_.files().end(), [&](const auto& copied) {
          return copied.path() == file.path() && copied.digest() == file.digest();
        });
    if (!is_read || is_there) continue;
    PublishedVersions::File copied;
    copied.set_path(file.path());
    for (const std::string& path : written[file.path()]) copied.add_written(path);
    copied.set_copy(absl::StrCat(file.digest(), "-", base_name(file.path())));
    copied.set_digest(file.digest());
    const std::string to = join_path(join_path(folder_, kFilesFolder), copied.copy());
    if (!is_uri(to)) RETURN_IF_ERROR(files_.create_directories(directory_of(to)));
    // The bytes, not a second name of the file: it may be written to later.
    ASSIGN_OR_RETURN(const std::string content, read_file(files_, file.path()));
    RETURN_IF_ERROR(write_file_atomically(files_, to, content));
    ASSIGN_OR_RETURN(const FileIdentity identity, identify_file(files_, to));
    if (identity.digest != file.digest()) {
      files_.remove(to).IgnoreError();
      return absl::InvalidArgumentError(
          absl::StrCat(file.path(), " is not the file that the run began with; restore it"));
    }
    *versions_.add_files() = std::move(copied);
  }
  return absl::OkStatus();
}

// Returns the bytes of the copy; 0 if it was there.
absl::StatusOr<int64_t> Publisher::copy_checkpoint(const CheckpointReader& from) {
  const CheckpointManifest& manifest = from.manifest();
  const int64_t step = manifest.progress().step();
  const std::string to = join_path(folder_, checkpoint_name(step));
  if (has_same_digest(files_, to, manifest.digest())) return 0;
  const auto named = [&](CheckpointName::Kind kind) {
    return join_path(folder_, checkpoint_name(step, kind, new_nonce()));
  };
  const std::string aside = named(CheckpointName::Kind::kTemporary);
  const std::string old = named(CheckpointName::Kind::kOld);
  RETURN_IF_ERROR(files_.create_directories(aside));
  const std::string source = join_path(from.directory(), kManifestName);
  // The same step with another content, such as with the results of an evaluation.
  const bool replaces = files_.link_info(to).ok();
  const absl::Status copied = [&]() -> absl::Status {
    for (const CheckpointManifest::File& file : manifest.files()) {
      RETURN_IF_ERROR(copy_file(files_, join_path(from.directory(), file.name()),
                                join_path(aside, file.name())));
    }
    // If the run saved the step again meanwhile, some copied files belong to the new checkpoint.
    ASSIGN_OR_RETURN(const std::string text, read_file(files_, source));
    const auto now = parse_manifest(text);
    if (!now.ok() || now->digest() != manifest.digest()) {
      return absl::DataLossError(
          absl::StrCat(from.directory(), " was saved again while it was copied"));
    }
    RETURN_IF_ERROR(write_file(files_, join_path(aside, kManifestName), text));
    RETURN_IF_ERROR(files_.sync_directory(aside));
    RETURN_IF_ERROR(check_owner(files_, folder_, token_));
    if (replaces) RETURN_IF_ERROR(files_.rename(to, old));
    RETURN_IF_ERROR(check_owner(files_, folder_, token_));
    return files_.rename(aside, to);
  }();
  if (!copied.ok()) {
    if (replaces && !files_.link_info(to).ok()) files_.rename(old, to).IgnoreError();
    remove_recursively(files_, aside).IgnoreError();
    return copied;
  }
  RETURN_IF_ERROR(files_.sync_directory(folder_));
  if (replaces) RETURN_IF_ERROR(remove_checkpoint(files_, old, token_));
  return total_bytes(manifest);
}

// Adds an entry and makes the list durable. Changes nothing after an error.
absl::Status Publisher::append(PublishedVersions::Version version) {
  PublishedVersions next = versions_;
  version.set_time(absl::FormatTime(kTimeFormat, clock_.now(), absl::UTCTimeZone()));
  if (version.state() == PublishedVersions::PUBLISHED) {
    next.set_current_step(version.step());
  }
  // Keeps one entry for each step; a published step may also have one refusal after it.
  const auto is_replaced = [&](const PublishedVersions::Version& each) {
    return each.step() == version.step() && (version.state() == PublishedVersions::PUBLISHED ||
                                             each.state() == PublishedVersions::REFUSED);
  };
  next.mutable_versions()->erase(
      std::remove_if(next.mutable_versions()->begin(), next.mutable_versions()->end(), is_replaced),
      next.mutable_versions()->end());
  if (rules_.monitor.empty()) {
    next.clear_monitor();
  } else {
    next.set_monitor(rules_.monitor);
  }
  *next.add_versions() = std::move(version);
  return write(std::move(next));
}

// Removes the files of versions beyond keep_last, and of bases that no version needs.
absl::Status Publisher::remove_old() {
  std::set<int64_t> kept = {versions_.current_step()};
  ASSIGN_OR_RETURN(const std::optional<PinnedVersion> pinned, read_pinned(files_, folder_));
  const bool keeps_pinned =
      pinned.has_value() && find_published(versions_, pinned->step()) != nullptr;
  if (keeps_pinned) kept.insert(pinned->step());
  int64_t count = 0;
  for (int i = versions_.versions_size() - 1; i >= 0; --i) {
    const PublishedVersions::Version& version = versions_.versions(i);
    if (version.state() != PublishedVersions::PUBLISHED) continue;
    if (++count <= rules_.keep_last) kept.insert(version.step());
  }
  std::set<int64_t> needed;
  std::vector<int64_t> lost;  // versions whose files someone else removed or damaged
  for (const int64_t step : kept) {
    const auto chain = open_chain(files_, join_path(folder_, checkpoint_name(step)));
    const bool is_served =
        step == versions_.current_step() || (keeps_pinned && step == pinned->step());
    if (is_damage(chain.status()) && !is_served) {
      lost.push_back(step);
      continue;
    }
    RETURN_IF_ERROR(chain.status());
    for (const auto& part : *chain) needed.insert(part->manifest().progress().step());
  }
  for (const int64_t step : lost) kept.erase(step);
  std::vector<int64_t> removed;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(folder_));
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_checkpoint_name(entry.name);
    if (!name.has_value() || name->kind != CheckpointName::Kind::kCheckpoint) continue;
    if (!needed.contains(name->step)) removed.push_back(name->step);
  }
  // The list first: it names no version whose files are gone.
  PublishedVersions next = versions_;
  bool changes = false;
  for (PublishedVersions::Version& version : *next.mutable_versions()) {
    const bool is_published = version.state() == PublishedVersions::PUBLISHED;
    if (!is_published || kept.contains(version.step())) continue;
    version.set_state(PublishedVersions::REMOVED);
    changes = true;
  }
  if (changes) RETURN_IF_ERROR(write(std::move(next)));
  std::sort(removed.rbegin(), removed.rend());  // deltas before their bases
  for (const int64_t step : removed) {
    RETURN_IF_ERROR(remove_checkpoint(files_, join_path(folder_, checkpoint_name(step)), token_));
  }
  return absl::OkStatus();
}

}  // namespace millrace
