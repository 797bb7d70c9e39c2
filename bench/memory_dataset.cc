#include "bench/memory_dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

MemoryDataset::MemoryDataset(std::vector<Batch> batches, int64_t epoch_batches)
    : batches_(std::move(batches)), epoch_batches_(epoch_batches) {}

absl::Status MemoryDataset::start_epoch(int64_t) {
  given_ = 0;
  return absl::OkStatus();
}

absl::Status MemoryDataset::seek(absl::Span<const Cursor>) {
  return absl::UnimplementedError("data in memory has no positions");
}

absl::StatusOr<std::optional<Batch>> MemoryDataset::next() {
  if (epoch_batches_ > 0 && given_ == epoch_batches_) return std::optional<Batch>();
  const size_t number = static_cast<size_t>(given_) % batches_.size();
  ++given_;
  return std::optional<Batch>(batches_[number]);
}

absl::StatusOr<std::vector<Batch>> read_full_batches(Dataset& data, int64_t count,
                                                     int64_t batch_size) {
  RETURN_IF_ERROR(data.start_epoch(0));
  std::vector<Batch> batches;
  int64_t examples = 0;
  while (static_cast<int64_t>(batches.size()) < count) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, data.next());
    if (!batch.has_value()) break;
    examples += batch->size;
    if (batch->size == batch_size) batches.push_back(*std::move(batch));
  }
  if (batches.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the data has ", examples,
                                                   " examples; a batch needs ", batch_size,
                                                   ": give more data or a smaller --batch"));
  }
  return batches;
}

}  // namespace millrace
