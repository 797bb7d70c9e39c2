#include "framework/loop/counted_feed.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "framework/model/model_output_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<StepData>> CountedFeed::next_step() {
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> data, feed_.next_step());
  if (data != nullptr) RETURN_IF_ERROR(prepare(*data));
  return data;
}

absl::StatusOr<std::unique_ptr<StepData>> CountedFeed::padding() {
  std::unique_ptr<StepData> data = feed_.padding();
  RETURN_IF_ERROR(prepare(*data));
  return data;
}

absl::Status CountedFeed::prepare(StepData& data) {
  RETURN_IF_ERROR(count(data));
  const at::Device device = model_.device();
  if (device.is_cpu()) return absl::OkStatus();
  return catch_exceptions("copying batches to the device", [&] {
    if (!copies_.has_value()) copies_ = copy_stream(device);
    data.on_device = BatchUpload(data.micro_batches, *copies_);
    return absl::OkStatus();
  });
}

absl::Status CountedFeed::count(StepData& data) {
  for (const Batch& batch : data.micro_batches) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> targets, count_targets(model_, batch));
    if (&batch == &data.micro_batches.front()) data.targets.resize(targets.size());
    // The first batch determines the number of counts for the whole run, because all ranks must sum
    // equally many numbers.
    if (!counted_tasks_.has_value()) counted_tasks_ = targets.size();
    const bool as_configured = targets.empty() || targets.size() == tasks_;
    if (!as_configured || targets.size() != *counted_tasks_) {
      return wrong_result(absl::StrCat("the model counts targets of ", targets.size(),
                                       " tasks in one batch; must be those of ", tasks_,
                                       " tasks in all batches, or of none in all"));
    }
    for (size_t task = 0; task < targets.size(); ++task) data.targets[task] += targets[task];
  }
  return absl::OkStatus();
}

}  // namespace millrace
