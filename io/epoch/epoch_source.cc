#include "io/epoch/epoch_source.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

absl::Status check_options(const DatasetOptions& options) {
  RETURN_IF_ERROR(check_own_ranges("data", options.data));
  RETURN_IF_ERROR(at_least("data", "reader_threads", options.reader_threads, 1));
  RETURN_IF_ERROR(at_least("data", "prefetch_batches", options.prefetch_batches, 1));
  RETURN_IF_ERROR(at_least("data", "world_size", options.world_size, 1));
  if (options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of ", options.world_size, " ranks"));
  }
  if (options.data.has_mix()) {
    return absl::InvalidArgumentError("the data is a mix, which open_mixed_dataset opens");
  }
  return absl::OkStatus();
}

// "" where everything is kept.
std::string sample_text(const DatasetOptions& options) {
  const SampleConfig& sample = options.data.sample();
  if (sample.rate() == 1 && sample.negative_rate() == 1) return "";
  return absl::StrCat(" sample ", sample.rate(), " ", sample.negative_rate(), " ",
                      absl::CEscape(sample.label()), " ", sample.resample(), " ", options.seed);
}

// See PassPosition::fingerprint.
uint64_t fingerprint_of(const DatasetOptions& options, const FileSet& files) {
  const bool shuffled = options.data.shuffle_rows() > 0;
  const SplitConfig& split = options.data.split();
  const SplitBounds bounds = split_bounds(split);
  std::string text = absl::StrCat("2 ", kMaxUnitRows, " ", options.data.shuffle_rows(), " ",
                                  shuffled ? options.seed : 0, " ", split.by(), " ", split.column(),
                                  " ", bounds.from, " ", bounds.to);
  if (split.by() == SplitConfig::HASH_OF_EXAMPLE && !takes_all(split) &&
      options.split_rule == TrainConfig::FILE_NAME) {
    absl::StrAppend(&text, " names");
  }
  if (split.by() == SplitConfig::HASH_OF_COLUMN) {
    const auto column = std::find(files.columns().begin(), files.columns().end(), split.column());
    const bool is_double =
        column != files.columns().end() &&
        files.column_types()[column - files.columns().begin()] == ValueType::kDouble;
    // Such numbers were formerly hashed by their bits.
    if (is_double) absl::StrAppend(&text, " integers");
  }
  if (options.rows.end > 0) {
    absl::StrAppend(&text, " rows ", options.rows.begin, " ", options.rows.end);
  }
  absl::StrAppend(&text, sample_text(options));
  for (size_t i = 0; i < files.paths().size(); ++i) {
    absl::StrAppend(&text, ";", absl::CEscape(base_name(files.paths()[i])), ":");
    for (const int64_t rows : files.group_rows()[i]) absl::StrAppend(&text, rows, ",");
  }
  return std::max<uint64_t>(1, xxh3(text));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpochSource>> EpochSource::open(const DatasetOptions& options) {
  RETURN_IF_ERROR(check_options(options));
  ASSIGN_OR_RETURN(std::unique_ptr<BlockSource> blocks, BlockSource::open(options));
  return std::unique_ptr<EpochSource>(new EpochSource(options, std::move(blocks)));
}

EpochSource::EpochSource(const DatasetOptions& options, std::unique_ptr<BlockSource> blocks)
    : options_(options),
      blocks_(std::move(blocks)),
      fingerprint_(fingerprint_of(options_, blocks_->files())) {}

PassPosition EpochSource::begin(int64_t epoch) const {
  const RowInterval all{0, rows()};
  return {.epoch = epoch,
          .rows_left = deal_rows({&all, 1}, options_.rank, options_.world_size),
          .fingerprint = fingerprint_};
}

absl::StatusOr<PassPosition> EpochSource::resume(absl::Span<const PassPosition> ranks) const {
  if (ranks.empty()) return absl::InvalidArgumentError("no cursors to continue from");
  PassPosition own;
  own.epoch = ranks.front().epoch;
  own.fingerprint = fingerprint_;
  for (const PassPosition& rank : ranks) {
    if (rank.epoch != own.epoch) {
      return absl::InvalidArgumentError(absl::StrCat("the cursors are of epochs ", own.epoch,
                                                     " and ", rank.epoch, "; they must be of one"));
    }
    RETURN_IF_ERROR(check_fingerprint(rank.fingerprint));
  }
  ASSIGN_OR_RETURN(own.rows_left, merge_rows_left(ranks, rows()));
  if (static_cast<int64_t>(ranks.size()) != options_.world_size) {
    own.rows_left = deal_rows(own.rows_left, options_.rank, options_.world_size);
    for (const PassPosition& rank : ranks) own.bad_rows += rank.bad_rows;
    own.bad_rows /= options_.world_size;
  } else {
    own.bad_rows = ranks[options_.rank].bad_rows;
    ASSIGN_OR_RETURN(own.rows_left, merge_rows_left({&ranks[options_.rank], 1}, rows()));
  }
  return own;
}

absl::Status EpochSource::check_fingerprint(uint64_t fingerprint) const {
  if (fingerprint == 0 || fingerprint == fingerprint_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the cursors are of other data, or of another order of it: files, "
                   "shuffle_rows, split, sample or seed changed; the first file is now ",
                   files().front()));
}

}  // namespace millrace
