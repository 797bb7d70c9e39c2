#include "tests/campaigns/crash_campaign.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/testing/crash_states_testing.h"
#include "tests/campaigns/campaign_job.h"

namespace millrace {
namespace {

constexpr int64_t kSteps = 3;
constexpr int64_t kRestoreEvery = 50;

struct Saved {
  int64_t step;
  std::string state;     // its digest
  std::string manifest;  // a digest that covers every byte
};

class CrashStates {
 public:
  explicit CrashStates(const CampaignOptions& options)
      : options_(options), result_("crash_states"), recording_(memory_) {}

  CampaignResult run() {
    record(0.1, [](int64_t) { return true; });
    record(0.2, [](int64_t step) { return step == kSteps; });
    const std::vector<FileOperation> operations = recording_.operations();
    const CrashCounts counts =
        for_each_crash_state(operations, {.max_states = options_.count, .seed = options_.seed},
                             [this](const CrashState& state) {
                               const absl::Status status = check(state);
                               if (!status.ok())
                                 result_.violate(absl::StrCat(status.ToString(), "\n", state.what));
                               return status.ok() || !options_.stop_at_violation;
                             });
    result_.add("operations", operations.size());
    result_.add("states", counts.enumerated);
    result_.add("distinct", counts.distinct);
    result_.add("restored", restored_);
    return std::move(result_);
  }

 private:
  static JobOptions job_options(double learning_rate) {
    JobOptions options;
    options.steps = kSteps;
    options.learning_rate = learning_rate;
    options.retention = {.keep_last = 2, .full_last = 1};
    return options;
  }

  void record(double learning_rate, const std::function<bool(int64_t)>& saves_at) {
    const std::unique_ptr<FileSystem> files = plant(options_.fault, recording_);
    JobOptions options = job_options(learning_rate);
    options.saves_at = saves_at;
    CampaignJob job(*files, options);
    const absl::Status status = job.train([this](int64_t step, const std::string& digest) {
      const auto reader =
          CheckpointReader::open(memory_, join_path(kCampaignFolder, checkpoint_name(step)));
      if (!reader.ok()) result_.violate(absl::StrCat("not there: ", reader.status().ToString()));
      saved_.push_back({step, digest, reader.ok() ? (*reader)->manifest().digest() : ""});
      recording_.mark(absl::StrCat(saved_.size()));
    });
    if (!status.ok()) result_.violate(absl::StrCat("cannot save: ", status.ToString()));
  }

  absl::Status check(const CrashState& state) {
    int64_t promised = 0;
    if (!state.marks.empty()) (void)absl::SimpleAtoi(state.marks.back(), &promised);
    absl::StatusOr<NewestCheckpoint> newest =
        newest_checkpoint(*state.files, kCampaignFolder, Check::kFull, threads_);
    if (!newest.ok() || newest->chain.empty()) {
      return promised == 0 ? absl::OkStatus() : absl::DataLossError("nothing is left");
    }
    const CheckpointManifest& manifest = newest->chain.back()->manifest();
    const auto first = saved_.begin() + std::max<int64_t>(promised - 1, 0);
    const auto found = std::find_if(first, saved_.end(), [&](const Saved& saved) {
      return saved.manifest == manifest.digest();
    });
    if (found == saved_.end()) {
      return absl::DataLossError(absl::StrCat(newest->chain.back()->directory(),
                                              " is not what was promised: save ", promised));
    }
    return ++checked_ % kRestoreEvery == 0 ? check_restore(state, *found) : absl::OkStatus();
  }

  absl::Status check_restore(const CrashState& state, const Saved& saved) {
    CampaignJob job(*state.files, job_options(0.1));
    ASSIGN_OR_RETURN(const std::optional<Restored> restored, job.restore());
    if (!restored || restored->digest != saved.state) {
      return absl::DataLossError("restored other bytes");
    }
    ++restored_;
    return absl::OkStatus();
  }

  const CampaignOptions options_;
  CampaignResult result_;
  MemoryFileSystem memory_;
  RecordingFileSystem recording_;
  ThreadPool threads_{1};
  std::vector<Saved> saved_;
  int64_t checked_ = 0, restored_ = 0;
};

}  // namespace

CampaignResult run_crash_states(const CampaignOptions& options) {
  return CrashStates(options).run();
}

}  // namespace millrace
