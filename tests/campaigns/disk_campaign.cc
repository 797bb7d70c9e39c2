#include "tests/campaigns/disk_campaign.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/forwarding_file_system.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "checkpoint/format/checkpoint_names.h"
#include "tests/campaigns/campaign_job.h"
#include "tests/campaigns/forked_child.h"

namespace millrace {
namespace {

constexpr int64_t kPage = 4096;

// A disk with unknown free space.
class UnknownRoom : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;
  absl::StatusOr<int64_t> free_bytes(const std::string&) override {
    return std::numeric_limits<int64_t>::max();
  }
};

// Returns the bytes of all files below a directory.
int64_t bytes_below(FileSystem& files, const std::string& path) {
  const auto info = files.link_info(path);
  if (!info.ok()) return 0;
  if (info->kind != FileKind::kDirectory) return info->size_bytes;
  int64_t bytes = 0;
  const auto entries = files.list(path);
  if (!entries.ok()) return 0;
  for (const DirectoryEntry& entry : *entries) {
    bytes += bytes_below(files, join_path(path, entry.name));
  }
  return bytes;
}

class DiskSizes {
 public:
  explicit DiskSizes(const CampaignOptions& options) : options_(options), result_("disk") {}

  CampaignResult run() {
    // The other processes come first: a fork of a process that has trained cannot train.
    if (options_.fault == PlantedFault::kNone) {
      in_other_process([this](const ForkedChild::Say& say) { on_tmpfs(say); });
      in_other_process([this](const ForkedChild::Say& say) { with_limits(say); });
    }
    in_memory(/*known=*/true);
    in_memory(/*known=*/false);
    return std::move(result_);
  }

 private:
  static JobOptions job_options(const std::string& folder, int64_t steps) {
    JobOptions options;
    options.folder = folder;
    options.steps = steps;
    options.saves_at = [](int64_t) { return false; };
    return options;
  }

  // Returns a job that has trained `steps` steps and saved nothing.
  static std::unique_ptr<CampaignJob> trained(FileSystem& files, const std::string& folder,
                                              int64_t steps) {
    auto job = std::make_unique<CampaignJob>(files, job_options(folder, steps));
    (void)job->train([](int64_t, const std::string&) {});
    return job;
  }

  // Writes the first checkpoint, through a Saver without a lock afterwards.
  void put_first(FileSystem& files, const std::string& folder, std::string* digest) {
    const std::unique_ptr<CampaignJob> job = trained(files, folder, 2);
    *digest = job->digest();
    const absl::Status status = job->save_through(files);
    if (!status.ok()) result_.violate(absl::StrCat("no first save: ", status.ToString()));
  }

  // The disk's answer about its free space. In blocks: files take more space than can be computed
  // before.
  enum class Room { kKnown, kInBlocks, kUnknown };

  // Makes a save, for which the disk may be too small. Returns true if the save succeeded.
  bool try_save(FileSystem& disk, const std::string& folder, const CampaignJob& job, Room room,
                const std::string& first, const std::string& where) {
    UnknownRoom unknown(disk);
    RecordingFileSystem recording(room == Room::kUnknown ? unknown : disk);
    const std::unique_ptr<FileSystem> files = plant(options_.fault, recording);
    const int64_t before = bytes_below(disk, folder);
    const absl::Status status = job.save_through(*files);
    CampaignJob reader(disk, job_options(folder, 1));
    const auto restored = reader.restore();
    const std::string& expected = status.ok() ? job.digest() : first;
    if (!restored.ok() || !*restored || (*restored)->digest != expected) {
      result_.violate(absl::StrCat(where, ": the checkpoint does not come back after ",
                                   status.ToString(), ": ", restored.status().ToString()));
    }
    result_.add(status.ok() ? "saved" : "refused");
    if (status.ok()) return true;
    if (!absl::StrContains(status.message(), folder)) {
      result_.violate(absl::StrCat(where, ": no file is named: ", status.ToString()));
    }
    if (bytes_below(disk, folder) != before) {
      result_.violate(absl::StrCat(where, ": bytes were left by: ", status.ToString()));
    }
    for (const FileOperation& operation : recording.operations()) {
      const bool sync = operation.kind == FileOperation::Kind::kSyncDirectory;
      if (room != Room::kKnown || sync) continue;
      result_.violate(absl::StrCat(where, ": ", operation.path, " was touched on a full disk"));
      break;
    }
    return false;
  }

  // Returns the bytes of the next checkpoint except manifest and digests, whose size is not known
  // before they exist.
  int64_t counted_bytes() {
    MemoryFileSystem disk;
    const absl::Status status = trained(disk, kCampaignFolder, 3)->save_through(disk);
    if (!status.ok()) result_.violate(status.ToString());
    const std::string directory = join_path(kCampaignFolder, checkpoint_name(3));
    int64_t bytes = bytes_below(disk, directory);
    for (const std::string& name : {std::string(kManifestName), chunks_file_name(0, 1)}) {
      bytes -= bytes_below(disk, join_path(directory, name));
    }
    return bytes;
  }

  void in_memory(bool known) {
    const int64_t counted = counted_bytes();
    for (int64_t bytes = 0;; bytes += options_.count) {
      MemoryFileSystem disk;
      std::string first;
      put_first(disk, kCampaignFolder, &first);
      const std::unique_ptr<CampaignJob> job = trained(disk, kCampaignFolder, 3);
      disk.set_capacity(disk.used_bytes() + bytes);
      const std::string where = absl::StrCat("room for ", bytes, known ? "" : ", unknown");
      const Room room = !known ? Room::kUnknown : bytes < counted ? Room::kKnown : Room::kInBlocks;
      const bool saved = try_save(disk, kCampaignFolder, *job, room, first, where);
      if (options_.stop_at_violation && result_.violations() > 0) return;
      result_.add(known ? "sizes in memory" : "sizes in memory, unknown to the writer");
      if (saved) break;
      disk.set_capacity(std::numeric_limits<int64_t>::max());
      const absl::Status again = job->save_through(disk);
      if (!again.ok()) result_.violate(absl::StrCat(where, ", again: ", again.ToString()));
    }
  }

  // Runs a part in a separate process and adds its findings: "add FIGURE" or "violate WHAT".
  void in_other_process(const std::function<void(const ForkedChild::Say&)>& part) {
    ForkedChild child([&](const ForkedChild::Say& say) {
      part(say);
      say("done");
    });
    bool done = false;
    while (const auto line = child.next_line()) {
      absl::string_view text = *line;
      if (absl::ConsumePrefix(&text, "add ")) result_.add(text);
      if (absl::ConsumePrefix(&text, "violate ")) result_.violate(std::string(text));
      done = *line == "done";
    }
    if (!done) result_.violate(absl::StrCat("a part ended with status ", child.wait()));
  }

  // Reports, in the process of a part, the findings since the last call.
  void say_found(const ForkedChild::Say& say, const std::string& figure) {
    say(absl::StrCat("add ", figure));
    for (const std::string& what : result_.first_violations()) {
      say(absl::StrCat("violate ", absl::StrJoin(absl::StrSplit(what, '\n'), " ")));
    }
    result_ = CampaignResult("disk");
  }

  static bool enter_namespace() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    auto write = [](const char* path, const std::string& text) {
      const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
      const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) > 0;
      if (fd >= 0) ::close(fd);
      return written;
    };
    return write("/proc/self/setgroups", "deny") &&
           write("/proc/self/uid_map", absl::StrCat("0 ", user, " 1")) &&
           write("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"));
  }

  void on_tmpfs(const ForkedChild::Say& say) {
    result_ = CampaignResult("disk");
    FileSystem& disk = FileSystem::local();
    const std::string mount = join_path(options_.directory, "mount");
    if (!disk.create_directories(mount).ok() || !enter_namespace()) {
      return say("add tmpfs not to be had");
    }
    const std::string folder = join_path(mount, "out/checkpoints");
    for (int64_t pages = 0;; ++pages) {
      bool saved = false;
      for (const Room room : {Room::kInBlocks, Room::kUnknown}) {
        if (::mount("campaign", mount.c_str(), "tmpfs", 0, "size=64m") != 0) {
          return say("add tmpfs not to be had");
        }
        std::string first;
        put_first(disk, folder, &first);
        const std::unique_ptr<CampaignJob> job = trained(disk, folder, 3);
        const int64_t used = (int64_t{64} << 20) - *disk.free_bytes(folder);
        const std::string size = absl::StrCat("size=", used + pages * kPage);
        if (::mount("campaign", mount.c_str(), "tmpfs", MS_REMOUNT, size.c_str()) != 0) {
          return say("violate the tmpfs cannot be resized");
        }
        const std::string where = absl::StrCat("tmpfs with ", pages, " pages");
        saved = try_save(disk, folder, *job, room, first, where);
        ::umount2(mount.c_str(), MNT_DETACH);
        say_found(say, "sizes of a tmpfs");
      }
      if (saved) return;
    }
  }

  void with_limits(const ForkedChild::Say& say) {
    result_ = CampaignResult("disk");
    ::signal(SIGXFSZ, SIG_IGN);
    FileSystem& disk = FileSystem::local();
    for (int64_t limit = 0;; limit += options_.count) {
      const std::string folder =
          join_path(options_.directory, absl::StrCat("limit", limit, "/checkpoints"));
      std::string first;
      put_first(disk, folder, &first);
      const std::unique_ptr<CampaignJob> job = trained(disk, folder, 3);
      rlimit whole;
      ::getrlimit(RLIMIT_FSIZE, &whole);
      const rlimit small = {static_cast<rlim_t>(limit), whole.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
      const std::string where = absl::StrCat("files of at most ", limit);
      const bool saved = try_save(disk, folder, *job, Room::kUnknown, first, where);
      ::setrlimit(RLIMIT_FSIZE, &whole);
      say_found(say, "limits on the size of files");
      (void)remove_recursively(disk, directory_of(folder));
      if (saved) return;
    }
  }

  const CampaignOptions options_;
  CampaignResult result_;
};

}  // namespace

CampaignResult run_disk(const CampaignOptions& options) { return DiskSizes(options).run(); }

}  // namespace millrace
