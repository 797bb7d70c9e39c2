#include "tests/campaigns/kill_campaign.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"
#include "tests/campaigns/campaign_job.h"
#include "tests/campaigns/forked_child.h"

namespace millrace {
namespace {

// Returns names in the folder that no finished save leaves.
std::vector<std::string> leftovers(FileSystem& files, const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = files.list(folder);
  if (!entries.ok()) return names;
  for (const DirectoryEntry& entry : *entries) {
    const auto name = parse_checkpoint_name(entry.name);
    const bool whole = name && name->kind == CheckpointName::Kind::kCheckpoint;
    if (!whole && entry.name != "lock") names.push_back(entry.name);
  }
  return names;
}

// Runs a life, which reports "restored STEP DIGEST", "saved STEP DIGEST", "left NAME", "end DIGEST"
// and "failed WHY".
void live(FileSystem& files, const std::string& folder, bool cursor_off,
          const ForkedChild::Say& say) {
  CampaignJob job(files, {.folder = folder, .cursor_off = cursor_off});
  const auto restored = job.restore();
  if (!restored.ok()) return say(absl::StrCat("failed ", restored.status().ToString()));
  say(*restored ? absl::StrCat("restored ", (*restored)->step, " ", (*restored)->digest)
                : "restored 0 none");
  const absl::Status status = job.train([&](int64_t step, const std::string& digest) {
    for (const std::string& name : leftovers(FileSystem::local(), folder)) {
      say(absl::StrCat("left ", name));
    }
    say(absl::StrCat("saved ", step, " ", digest));
  });
  if (!status.ok()) return say(absl::StrCat("failed ", status.ToString()));
  say(absl::StrCat("end ", job.digest()));
}

class Kills {
 public:
  explicit Kills(const CampaignOptions& options) : options_(options), result_("kills") {}

  CampaignResult run() {
    run_undisturbed();
    begin_anew();
    while (result_.figure(kMet) < options_.count && !over()) one_life();
    while (!finished_ && !over()) one_life(/*kill=*/false);
    return std::move(result_);
  }

 private:
  static constexpr char kMet[] = "kills that met a save";

  bool over() const {
    return lives_ > 100 + 20 * options_.count ||
           (options_.stop_at_violation && result_.violations() > 0);
  }

  // Computes, in memory and in another process, the expected digest of each checkpoint.
  void run_undisturbed() {
    ForkedChild child([](const ForkedChild::Say& say) {
      MemoryFileSystem files;
      live(files, kCampaignFolder, /*cursor_off=*/false, say);
    });
    while (const auto line = child.next_line()) take(*line, &expected_);
  }

  void begin_anew() {
    folder_ = join_path(options_.directory, absl::StrCat("run", runs_++, "/checkpoints"));
    acknowledged_ = 0;
    finished_ = false;
  }

  // Reads a line into digests by step; 0 is the end of the run.
  static void take(const std::string& line, std::map<int64_t, std::string>* digests) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    int64_t step = 0;
    if (words.size() == 3 && words[0] == "saved" && absl::SimpleAtoi(words[1], &step)) {
      (*digests)[step] = words[2];
    } else if (words.size() == 2 && words[0] == "end") {
      (*digests)[0] = words[1];
    }
  }

  double random() { return uniform24(philox(options_.seed, 2, draws_++)[0]); }

  void one_life(bool kill = true) {
    ++lives_;
    ForkedChild child([this](const ForkedChild::Say& say) {
      const std::unique_ptr<FileSystem> files = plant(options_.fault, FileSystem::local());
      live(*files, folder_, options_.fault == PlantedFault::kCursorOneBatchOff, say);
    });
    check_restored(child.next_line());
    saved_.clear();
    const bool stopped = kill && wait_and_kill(child);
    while (const auto line = child.next_line()) hear(*line);
    const int status = child.wait();
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
      violate(absl::StrCat("the job ended with status ", status));
    }
    result_.add("kills", killed);
    if (killed && !leftovers(FileSystem::local(), folder_).empty()) result_.add(kMet);
    if (stopped) result_.add("second writers refused", refused_);
    if (!killed) finish_run();
  }

  // Kills the child. Returns true if a second writer was tried.
  bool wait_and_kill(ForkedChild& child) {
    const int64_t saves = 1 + static_cast<int64_t>(3 * random());
    absl::Time last = absl::Now();
    for (int64_t i = 0; i < saves; ++i) {
      const auto line = child.next_line();
      if (!line) return false;
      const absl::Time now = absl::Now();
      if (i > 0) interval_ = 0.8 * interval_ + 0.2 * (now - last);
      last = now;
      hear(*line);
    }
    absl::SleepFor(random() * 1.1 * interval_);
    const bool wants_writer = random() < 0.25 || options_.fault == PlantedFault::kLockForEverybody;
    const bool try_writer = wants_writer && !saved_.empty() && child.stop();
    if (try_writer) try_second_writer();
    child.send(SIGKILL);
    return try_writer;
  }

  // Tries to acquire the lock while the child is stopped and holds the lock.
  void try_second_writer() {
    const std::unique_ptr<FileSystem> files = plant(options_.fault, FileSystem::local());
    const auto lock = DirectoryLock::acquire(*files, folder_, Clock::real());
    refused_ = absl::IsFailedPrecondition(lock.status());
    if (!refused_) violate(absl::StrCat("a second writer got: ", lock.status().ToString()));
  }

  void check_restored(const std::optional<std::string>& line) {
    const std::vector<std::string> words = absl::StrSplit(line.value_or("nothing"), ' ');
    int64_t step = -1;
    if (words.size() != 3 || words[0] != "restored" || !absl::SimpleAtoi(words[1], &step)) {
      return violate(absl::StrCat("a life began with: ", line.value_or("nothing")));
    }
    if (step < acknowledged_) {
      violate(absl::StrCat("step ", acknowledged_, " was acknowledged, ", step, " came back"));
    }
    if (step > 0 && options_.fault != PlantedFault::kCursorOneBatchOff &&
        words[2] != expected_[step]) {
      violate(absl::StrCat("step ", step, " came back with other bytes"));
    }
    result_.add("restored", step > 0);
    acknowledged_ = std::max(acknowledged_, step);
  }

  void hear(const std::string& line) {
    take(line, &saved_);
    if (absl::StartsWith(line, "left ") || absl::StartsWith(line, "failed ")) violate(line);
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    int64_t step = 0;
    if (words[0] != "saved" || !absl::SimpleAtoi(words[1], &step)) return;
    acknowledged_ = std::max(acknowledged_, step);
    result_.add("saves acknowledged");
    if (words[2] != expected_[step]) {
      violate(absl::StrCat("step ", step, " was saved with other bytes than undisturbed"));
    }
  }

  void finish_run() {
    finished_ = true;
    result_.add("runs that reached their end");
    if (saved_[0] != expected_[0]) violate("the end is not that of the undisturbed run");
    FileSystem& files = FileSystem::local();
    // After a kill behind the last durable save, a life finds the job complete, saves nothing and
    // cleans up nothing.
    const bool cleaned_up = saved_.size() > 1;
    for (const std::string& name : leftovers(files, folder_)) {
      cleaned_up ? violate("left at the end: " + name) : result_.add("left after the last save");
    }
    const absl::Status removed = remove_recursively(files, directory_of(folder_));
    if (!removed.ok()) violate(removed.ToString());
    if (result_.figure(kMet) < options_.count) begin_anew();
  }

  void violate(const std::string& what) {
    result_.violate(absl::StrCat("life ", lives_, " in ", folder_, ": ", what));
  }

  const CampaignOptions options_;
  CampaignResult result_;
  std::map<int64_t, std::string> expected_;  // digests by step; 0: the end
  std::map<int64_t, std::string> saved_;     // in this life
  std::string folder_;
  int64_t acknowledged_ = 0;
  bool finished_ = false;
  bool refused_ = false;
  int64_t runs_ = 0, lives_ = 0, draws_ = 0;
  absl::Duration interval_ = absl::Milliseconds(10);  // between two saves
};

}  // namespace

CampaignResult run_kills(const CampaignOptions& options) { return Kills(options).run(); }

}  // namespace millrace
