#include "serving/served_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<ServedModel>> ServedModel::open(FileSystem& files,
                                                               const std::string& path,
                                                               PredictorOptions options) {
  auto model = std::make_unique<ServedModel>();
  ASSIGN_OR_RETURN(model->place_, resolve_served_place(files, path));
  const ServedPlace& place = model->place_;
  options.files = place.files;
  ASSIGN_OR_RETURN(auto version, load_newest(place));
  ASSIGN_OR_RETURN(model->predictor_, Predictor::create(std::move(version), options));
  if (place.kind != ServedPlace::kCheckpoint) {
    MutexLock lock(model->follow_mutex_);
    model->follower_ =
        std::make_unique<Follower>(place, absl::InfiniteDuration(), *model->predictor_);
  }
  return model;
}

absl::Status set_row_lengths(const std::string& where, int64_t values,
                             absl::Span<const int64_t> lengths, Column* column) {
  column->rows = static_cast<int64_t>(lengths.size());
  column->offsets.assign(1, 0);
  column->offsets.reserve(lengths.size() + 1);
  int64_t total = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > values - total) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "the lengths exceed its ", values, " values"));
    }
    column->offsets.push_back(total += length);
  }
  if (total == values) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, "it has ", values, " values, but the lengths add up to ", total));
}

}  // namespace millrace
