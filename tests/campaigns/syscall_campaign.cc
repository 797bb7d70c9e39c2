#include "tests/campaigns/syscall_campaign.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "tests/campaigns/campaign_job.h"
#include "tests/campaigns/traced_child.h"

namespace millrace {
namespace {

using Kind = Disturbance::Kind;

constexpr int kErrors[] = {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, EINTR};
constexpr int64_t kNewest = 3;  // the step of the newest initial checkpoint

enum class Action { kSave, kReplace, kLoad };

const char* name_of(Action action) {
  if (action == Action::kSave) return "save";
  return action == Action::kReplace ? "replace" : "load";
}

// The findings of the traced process, in shared memory, since a pipe would add system calls to
// disturb.
struct Outcome {
  bool done = false;
  int code = 0;
  char message[2000] = {};
};

class SharedOutcome {
 public:
  SharedOutcome() {
    void* const memory =
        ::mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MILLRACE_CHECK(memory != MAP_FAILED) << "no shared memory: errno " << errno;
    outcome_ = new (memory) Outcome;
  }
  ~SharedOutcome() { ::munmap(outcome_, sizeof(Outcome)); }
  void reset() { *outcome_ = Outcome(); }
  void set(const absl::Status& status) {
    const absl::string_view message = status.message().substr(0, sizeof outcome_->message - 1);
    std::memcpy(outcome_->message, message.data(), message.size());
    outcome_->code = status.raw_code();
    outcome_->done = true;
  }
  bool done() const { return outcome_->done; }
  absl::Status status() const {
    return absl::Status(static_cast<absl::StatusCode>(outcome_->code), outcome_->message);
  }

 private:
  Outcome* outcome_;
};

class SystemCalls {
 public:
  explicit SystemCalls(const CampaignOptions& options)
      : options_(options),
        result_("syscalls"),
        // Planted faults recognize the folder by the name "checkpoints".
        template_(join_path(options.directory, "template/checkpoints")),
        folder_(join_path(options.directory, "case/checkpoints")) {}

  CampaignResult run() {
    const absl::Status prepared = prepare();
    if (!prepared.ok()) result_.violate(prepared.ToString());
    for (const Action action : {Action::kSave, Action::kReplace, Action::kLoad}) {
      if (over() || !result_.skipped().empty()) break;
      run_action(action);
    }
    return std::move(result_);
  }

 private:
  static JobOptions job_options(const std::string& folder, int64_t steps, double learning_rate) {
    JobOptions options;
    options.folder = folder;
    options.steps = steps;
    options.learning_rate = learning_rate;
    options.retention = {.keep_last = 2, .full_last = 1};
    return options;
  }

  // Creates a folder with checkpoints of steps 2 and 3, and remains of dead writers.
  absl::Status prepare() {
    FileSystem& files = FileSystem::local();
    JobOptions options = job_options(template_, kNewest, 0.1);
    options.retention = {};
    options.saves_at = [](int64_t step) { return step >= kNewest - 1; };
    auto first = std::make_unique<CampaignJob>(files, options);
    RETURN_IF_ERROR(first->train([this](int64_t, const std::string& digest) { old_ = digest; }));
    first.reset();
    const std::string step = join_path(template_, checkpoint_name(kNewest));
    std::error_code error;
    for (const char* end : {".tmp-dead", ".removed-dead"}) {
      std::filesystem::copy(step, step + end, std::filesystem::copy_options::recursive, error);
    }
    if (error) return absl::UnavailableError(error.message());
    for (auto [job, steps, rate] :
         {std::make_tuple(&next_, kNewest + 1, 0.1), std::make_tuple(&other_, kNewest, 0.2)}) {
      JobOptions silent = job_options(folder_, steps, rate);
      silent.saves_at = [](int64_t) { return false; };
      *job = std::make_unique<CampaignJob>(files, silent);
      RETURN_IF_ERROR((*job)->train([](int64_t, const std::string&) {}));
    }
    return absl::OkStatus();
  }

  absl::Status start_anew() {
    std::error_code error;
    std::filesystem::remove_all(directory_of(folder_), error);
    std::filesystem::create_directories(directory_of(folder_), error);
    std::filesystem::copy(template_, folder_, std::filesystem::copy_options::recursive, error);
    return error ? absl::UnavailableError(error.message()) : absl::OkStatus();
  }

  const CampaignJob& writer(Action action) const {
    return action == Action::kReplace ? *other_ : *next_;
  }

  absl::Status act(Action action, FileSystem& files) const {
    if (action != Action::kLoad) return writer(action).save_through(files);
    return CampaignJob(files, job_options(folder_, 1, 0.1)).look().status();
  }

  bool over() const { return options_.stop_at_violation && result_.violations() > 0; }

  // Returns Unimplemented where processes cannot be traced.
  absl::StatusOr<TracedLife> trace(Action action, const Disturbance& disturbance) {
    RETURN_IF_ERROR(start_anew());
    outcome_.reset();
    return run_traced(
        [&] {
          const std::unique_ptr<FileSystem> files = plant(options_.fault, FileSystem::local());
          outcome_.set(act(action, *files));
        },
        disturbance);
  }

  void run_action(Action action) {
    // Work that a process does once, such as finding the time zone, happens before all forks.
    absl::Status warm = start_anew();
    warm.Update(act(action, FileSystem::local()));
    warm.Update(writer(action).save_through(FileSystem::local()));
    if (!warm.ok()) result_.violate(warm.ToString());
    const absl::StatusOr<TracedLife> whole = trace(action, {});
    if (absl::IsUnimplemented(whole.status())) {
      return result_.skip(std::string(whole.status().message()));
    }
    if (!whole.ok() || !outcome_.done() || !outcome_.status().ok()) {
      return result_.violate(absl::StrCat(name_of(action),
                                          " undisturbed: ", whole.status().ToString(), " ",
                                          outcome_.status().ToString()));
    }
    result_.add(absl::StrCat("calls of ", name_of(action)), whole->calls.size());
    calls_ = whole->calls;
    find_commit();
    for (size_t n = 0; n < calls_.size(); ++n) {
      const long number = calls_[n].number;
      if (!options_.only_call.empty() && call_name(number) != options_.only_call) continue;
      disturb(action, {Kind::kKillAtEntry, static_cast<int64_t>(n)});
      disturb(action, {Kind::kKillAtExit, static_cast<int64_t>(n)});
      for (const int error : kErrors) {
        disturb(action, {Kind::kError, static_cast<int64_t>(n), error});
        // A writer retries interrupted calls without end.
        if (error == EINTR) continue;
        disturb(action, {Kind::kErrorsFromHere, static_cast<int64_t>(n), error});
      }
      if (may_be_short(number)) disturb(action, {Kind::kShort, static_cast<int64_t>(n)});
    }
  }

  // Finds the call that makes the new checkpoint durable: the sync of the folder after the rename.
  void find_commit() {
    commit_ = -1;
    bool renamed = false;
    for (size_t n = 0; n < calls_.size() && commit_ < 0; ++n) {
      const TracedCall& call = calls_[n];
      const auto to = parse_checkpoint_name(base_name(call.to));
      if (to && to->kind == CheckpointName::Kind::kCheckpoint) renamed = true;
      if (renamed && call_name(call.number) == "fsync" && call.path == folder_) commit_ = n;
    }
  }

  // Returns true if a save must not succeed when this call failed.
  bool must_fail(const Disturbance& disturbance) const {
    if (disturbance.call > commit_) return false;
    const TracedCall& call = calls_[disturbance.call];
    if (!absl::StartsWith(call.path, folder_)) return false;
    const std::string name = call_name(call.number);
    if (name == "fsync" || name == "rename") return true;
    const bool written = absl::StrContains(directory_of(call.path), ".tmp-");
    if (name == "pwrite64") return written && disturbance.error != EINTR;
    return name == "close" && written;
  }

  void disturb(Action action, const Disturbance& disturbance) {
    if (over() || !is_chosen(options_, ++cases_)) return;
    const absl::StatusOr<TracedLife> life = trace(action, disturbance);
    const TracedCall& call = calls_[disturbance.call];
    const bool reached = life.ok() && static_cast<int64_t>(life->calls.size()) > disturbance.call;
    meant_ = reached && life->calls[disturbance.call].number == call.number;
    where_ = absl::StrCat(name_of(action), ", call ", disturbance.call, " ", call_name(call.number),
                          " of ", call.path, ", ", describe(disturbance));
    if (!life.ok()) return violate(life.status().ToString());
    if (!meant_) violate("another call came instead");
    const bool kill =
        disturbance.kind == Kind::kKillAtEntry || disturbance.kind == Kind::kKillAtExit;
    result_.add(kill ? "killed" : "failed or short");
    const bool killed =
        !life->finished && WIFSIGNALED(life->status) && WTERMSIG(life->status) == SIGKILL;
    if (kill ? !killed : !life->finished) {
      violate(absl::StrCat("the process ended with status ", life->status));
    }
    const bool success = !kill && outcome_.done() && outcome_.status().ok();
    if (!kill && life->finished) check_outcome(disturbance);
    check_folder(action, success);
  }

  void check_outcome(const Disturbance& disturbance) {
    const absl::Status status = outcome_.status();
    result_.add(status.ok() ? "went on" : "refused");
    const bool error = disturbance.kind != Kind::kShort;
    if (status.ok() && error && meant_ && must_fail(disturbance)) {
      violate("acknowledged all the same");
    }
    if (disturbance.kind == Kind::kShort && !status.ok()) violate(status.ToString());
    if (!status.ok() && !absl::StrContains(status.message(), directory_of(folder_))) {
      violate(absl::StrCat("no place is named: ", status.ToString()));
    }
  }

  // Checks the restored checkpoint and the next save.
  void check_folder(Action action, bool success) {
    FileSystem& files = FileSystem::local();
    CampaignJob reader(files, job_options(folder_, 1, 0.1));
    const auto restored = reader.restore();
    const std::string present = writer(action).digest();
    if (!restored.ok() || !*restored) {
      return violate(absl::StrCat("nothing comes back: ", restored.status().ToString()));
    }
    const bool old = (*restored)->digest == old_, current = (*restored)->digest == present;
    if (action == Action::kLoad ? !old : !(success ? current : old || current)) {
      violate(absl::StrCat("other bytes come back, of step ", (*restored)->step));
    }
    result_.add(current ? "came back: the new one" : "came back: the one before");
    const absl::Status again = writer(action).save_through(files);
    if (!again.ok()) violate(absl::StrCat("the next save: ", again.ToString()));
    CampaignJob later(files, job_options(folder_, 1, 0.1));
    const auto saved = later.restore();
    if (!saved.ok() || !*saved || (*saved)->digest != present) violate("the next save is lost");
    const auto entries = files.list(folder_);
    for (const DirectoryEntry& entry : *entries) {
      const auto name = parse_checkpoint_name(entry.name);
      if (name && name->kind != CheckpointName::Kind::kCheckpoint) violate("left: " + entry.name);
    }
  }

  static std::string describe(const Disturbance& disturbance) {
    switch (disturbance.kind) {
      case Kind::kNone: return "undisturbed";
      case Kind::kKillAtEntry: return "killed at entry";
      case Kind::kKillAtExit: return "killed at exit";
      case Kind::kError: return std::strerror(disturbance.error);
      case Kind::kErrorsFromHere:
        return absl::StrCat(std::strerror(disturbance.error), " from here on");
      case Kind::kShort: return "short";
    }
    return "";
  }

  void violate(const std::string& what) { result_.violate(absl::StrCat(where_, ": ", what)); }

  const CampaignOptions options_;
  CampaignResult result_;
  const std::string template_, folder_;
  SharedOutcome outcome_;
  std::string old_;                            // digest of the newest initial checkpoint
  std::unique_ptr<CampaignJob> next_, other_;  // to save: the next step; the same step again
  std::vector<TracedCall> calls_;              // of the current action, undisturbed
  int64_t commit_ = -1;
  int64_t cases_ = 0;
  std::string where_;
  bool meant_ = false;  // the disturbed call is the call of this number in calls_
};

}  // namespace

CampaignResult run_syscalls(const CampaignOptions& options) { return SystemCalls(options).run(); }

}  // namespace millrace
