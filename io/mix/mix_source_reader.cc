#include "io/mix/mix_source_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/mix/source_passes.h"

namespace millrace {
namespace {

// With fewer rows than ranks, or a small sample of few rows, a rank may have nothing of some
// passes.
constexpr int64_t kMaxEmptyPasses = 100;  // and one for each rank

}  // namespace

MixSourceReader::MixSourceReader(const EpochSource& source, bool repeats, SourcePosition start)
    : source_(source), repeats_(repeats), later_(start.begin() + 1, start.end()) {
  for (PassPosition& pass : later_) pass.fingerprint = source_.fingerprint();
  // Not as a whole pass, even if it is one: positions always name the first pass.
  opened_ = open_pass(std::move(start.front()), /*is_whole=*/false);
}

absl::Status MixSourceReader::open_pass(PassPosition start, bool is_whole) {
  start.fingerprint = source_.fingerprint();
  last_epoch_ = start.epoch;
  auto reader = std::make_unique<EpochReader>(source_, std::move(start));
  MutexLock lock(mutex_);
  if (cancelled_) return absl::CancelledError("reading was cancelled");
  passes_.push_back({std::move(reader), is_whole});
  return absl::OkStatus();
}

absl::Status MixSourceReader::open_next_pass() {
  if (!later_.empty()) {
    PassPosition start = std::move(later_.front());
    later_.pop_front();
    return open_pass(std::move(start), /*is_whole=*/false);
  }
  const DatasetOptions& options = source_.options();
  if (++empty_passes_ > kMaxEmptyPasses + options.world_size) {
    return absl::DataLossError(absl::StrCat("a source repeats, but ", empty_passes_ - 1,
                                            " passes over ", source_.files().front(),
                                            " and the like gave no example"));
  }
  PassPosition start;
  start.epoch = last_epoch_ + 1;
  start.rows_left = pass_share(start.epoch, source_.rows(), options.rank, options.world_size);
  return open_pass(std::move(start), /*is_whole=*/true);
}

absl::StatusOr<int64_t> MixSourceReader::available(int64_t count) {
  RETURN_IF_ERROR(opened_);
  int64_t ready = 0;
  for (size_t i = 0;; ++i) {
    if (i == passes_.size()) {
      if (!repeats_) return ready;
      RETURN_IF_ERROR(open_next_pass());
    }
    ASSIGN_OR_RETURN(const int64_t more, passes_[i].reader->batcher().available(count - ready));
    if (more > 0) empty_passes_ = 0;
    ready += more;
    if (ready == count) return ready;
  }
}

void MixSourceReader::take(int64_t count, std::vector<BatchPiece>* pieces) {
  for (Pass& pass : passes_) {
    if (count == 0) return;
    for (const BatchPiece& piece : pass.reader->batcher().take(count)) {
      count -= static_cast<int64_t>(piece.rows.size());
      pieces->push_back(piece);
    }
  }
}

int64_t MixSourceReader::release() {
  int64_t bad = 0;
  for (Pass& pass : passes_) bad += pass.reader->batcher().release();
  // Retains the last one, whose position is the reader's.
  while (passes_.size() > 1 && passes_.front().reader->batcher().at_end()) {
    Pass used;
    MutexLock lock(mutex_);
    used = std::move(passes_.front());
    passes_.pop_front();
  }
  return bad;
}

SourcePosition MixSourceReader::position() const {
  SourcePosition position = {passes_.front().reader->batcher().position()};
  for (size_t i = 1; i < passes_.size(); ++i) {
    if (!passes_[i].is_whole) position.push_back(passes_[i].reader->batcher().position());
  }
  position.insert(position.end(), later_.begin(), later_.end());
  return position;
}

void MixSourceReader::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  for (Pass& pass : passes_) pass.reader->cancel();
}

}  // namespace millrace
