// A saver that passes states to a function.
#ifndef MILLRACE_TESTS_FAKES_FAKE_SAVER_H_
#define MILLRACE_TESTS_FAKES_FAKE_SAVER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "checkpoint/state/state_saver.h"

namespace millrace {

class FakeSaver : public StateSaver {
 public:
  // Saves a state and its metrics. The result names the checkpoint.
  using Save = std::function<absl::StatusOr<CheckpointInfo>(
      const TrainState& state, const std::map<std::string, double>& metrics)>;

  explicit FakeSaver(Save save) : save_(std::move(save)) {}
  absl::Status open(Collectives&) override { return open_status; }
  absl::Status begin(const TrainState& state, const std::map<std::string, double>& metrics,
                     Collectives&) override {
    ASSIGN_OR_RETURN(durable_.emplace_back(), save_(state, metrics));
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<CheckpointInfo>> finish(Collectives&) override {
    std::vector<CheckpointInfo> durable = std::exchange(durable_, {});
    if (drops > 0 && !durable.empty()) {
      --drops;
      durable.pop_back();
    }
    return durable;
  }
  bool asynchronous() const override { return is_asynchronous; }
  // Finds no checkpoint.
  absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState&, Collectives&) override {
    return std::optional<FoundCheckpoint>();
  }
  absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path, const TrainState&,
                                               Collectives&) override {
    return absl::NotFoundError(path);
  }

  absl::Status open_status;
  bool is_asynchronous = false;
  int drops = 0;  // number of saves to drop

 private:
  const Save save_;
  std::vector<CheckpointInfo> durable_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_FAKE_SAVER_H_
