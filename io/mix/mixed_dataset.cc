#include "io/mix/mixed_dataset.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "io/column.h"
#include "io/data_identity.h"
#include "io/epoch/batch_queue.h"
#include "io/mix/mix_batcher.h"
#include "io/mix/mix_check.h"
#include "io/mix/mix_source_reader.h"
#include "io/mix/source_passes.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// Apart from what the order of an epoch is made of (io/epoch/epoch_plan.cc).
constexpr uint64_t kSourceKey = uint64_t{6} << 56;

// The first source is shuffled as it would be alone.
uint64_t source_seed(uint64_t seed, int source) {
  return source == 0 ? seed : philox64(seed, kSourceKey, static_cast<uint64_t>(source));
}

// See PassPosition::fingerprint. Proportions decide no order within a source.
uint64_t fingerprint_of(const MixConfig& mix,
                        const std::vector<std::unique_ptr<EpochSource>>& sources) {
  std::string text = "mix 1";
  for (size_t i = 0; i < sources.size(); ++i) {
    absl::StrAppend(&text, " ", sources[i]->fingerprint(), " ",
                    mix.source(static_cast<int>(i)).repeat());
  }
  return std::max<uint64_t>(1, xxh3(text));
}

MixOptions mix_options(const DatasetOptions& options) {
  MixOptions mix;
  mix.batch_size = options.data.batch_size();
  mix.drop_remainder = options.data.drop_remainder();
  mix.until = options.data.mix().until();
  for (const MixSourceConfig& source : options.data.mix().source()) {
    mix.proportions.push_back(source.proportion());
  }
  mix.rank = options.rank;
  mix.world_size = options.world_size;
  return mix;
}

// Checks that batches can hold the kept columns of both. Errors: InvalidArgument.
absl::Status check_kept_types(const EpochSource& first, const EpochSource& other) {
  const std::vector<std::string>& names = first.options().schema.kept_columns();
  const std::vector<ValueType> types = first.blocks().kept_types();
  const std::vector<ValueType> others = other.blocks().kept_types();
  for (size_t i = 0; i < names.size(); ++i) {
    if (types[i] == others[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "column \"", names[i], "\" holds ", describe(others[i]), " in ", other.files().front(),
        ", but ", describe(types[i]), " in ", first.files().front()));
  }
  return absl::OkStatus();
}

// True if the cursor has a position in each source, false if nothing of the epoch is left.
bool is_open(const Cursor& cursor) {
  return cursor.mix() != nullptr && !cursor.mix()->sources.empty();
}

int64_t batches_of(const Cursor& cursor) {
  return cursor.mix() == nullptr ? 0 : cursor.mix()->batches;
}

}  // namespace

class MixedDataset::Run {
 public:
  // `cursor` has a position in each source.
  Run(const DatasetOptions& options, const std::vector<std::unique_ptr<EpochSource>>& sources,
      const Cursor& cursor)
      : readers_(open_readers(options, sources, *cursor.mix())),
        batcher_(mix_options(options), pointers(), *cursor.mix(), cursor),
        batches_(options.prefetch_batches, [this] { return batcher_.next(); }) {}

  // The thread of batches_ may wait for a block and ends first.
  ~Run() { cancel_readers(); }

  absl::StatusOr<std::optional<Batch>> next() { return batches_.next(); }
  void cancel() {
    cancel_readers();
    batches_.cancel();
  }

 private:
  using Readers = std::vector<std::unique_ptr<MixSourceReader>>;

  static Readers open_readers(const DatasetOptions& options,
                              const std::vector<std::unique_ptr<EpochSource>>& sources,
                              const MixPosition& start) {
    Readers readers;
    for (size_t i = 0; i < sources.size(); ++i) {
      const bool repeats = options.data.mix().source(static_cast<int>(i)).repeat();
      readers.push_back(std::make_unique<MixSourceReader>(*sources[i], repeats, start.sources[i]));
    }
    return readers;
  }

  std::vector<MixSourceReader*> pointers() const {
    std::vector<MixSourceReader*> pointers;
    for (const auto& reader : readers_) pointers.push_back(reader.get());
    return pointers;
  }

  void cancel_readers() {
    for (const auto& reader : readers_) reader->cancel();
  }

  const Readers readers_;
  MixBatcher batcher_;
  BatchQueue batches_;
};

absl::StatusOr<std::unique_ptr<MixedDataset>> open_mixed_dataset(const DatasetOptions& options) {
  if (!options.data.has_mix()) return absl::InvalidArgumentError("the data is no mix");
  RETURN_IF_ERROR(check_mix("mix", options.data));
  std::vector<std::unique_ptr<EpochSource>> sources;
  DatasetOptions kept = options;
  kept.data.mutable_mix()->clear_source();
  kept.mix_parts.clear();
  std::map<std::string, std::string> time_types = options.time_types;  // the first source decides
  int64_t files = 0;
  for (int i = 0; i < options.data.mix().source_size(); ++i) {
    const MixSourceConfig& config = options.data.mix().source(i);
    DatasetOptions source = options;
    source.data = config.data();
    const MixPartOptions part =
        options.mix_parts.empty() ? MixPartOptions{.source = i} : options.mix_parts[i];
    source.rows = part.rows;
    source.may_be_empty = part.may_be_empty;
    source.data.set_batch_size(options.data.batch_size());
    source.seed = source_seed(options.seed, part.source);
    source.first_file = options.first_file + files;
    if (part.files_before >= 0) {
      // Sources alternate, since the number of files of none of them is known beforehand.
      source.first_file = part.source + part.files_before * part.sources;
      source.file_step = part.sources;
    }
    source.time_types = time_types;
    ASSIGN_OR_RETURN(std::unique_ptr<EpochSource> opened, EpochSource::open(source),
                     entry("mix.source", part.source, config.name()));
    files += static_cast<int64_t>(opened->files().size());
    time_types.merge(time_types_of(opened->blocks().hashed_columns()));
    if (opened->rows() == 0) continue;
    if (!sources.empty()) {
      RETURN_IF_ERROR(check_kept_types(*sources.front(), *opened),
                      entry("mix.source", part.source, config.name()));
    }
    sources.push_back(std::move(opened));
    *kept.data.mutable_mix()->add_source() = config;
    kept.mix_parts.push_back(part);
  }
  return std::unique_ptr<MixedDataset>(new MixedDataset(kept, std::move(sources)));
}

MixedDataset::MixedDataset(const DatasetOptions& options,
                           std::vector<std::unique_ptr<EpochSource>> sources)
    : options_(options),
      sources_(std::move(sources)),
      fingerprint_(fingerprint_of(options_.data.mix(), sources_)) {}

MixedDataset::~MixedDataset() = default;

int64_t MixedDataset::rows() const {
  int64_t rows = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!options_.data.mix().source(static_cast<int>(i)).repeat()) rows += sources_[i]->rows();
  }
  return rows;
}

int64_t MixedDataset::rows_done(const Cursor& cursor) const {
  int64_t rows = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (options_.data.mix().source(static_cast<int>(i)).repeat()) continue;
    rows += count_rows(sources_[i]->begin(cursor.epoch).rows_left);
    if (is_open(cursor)) rows -= count_rows(cursor.mix()->sources[i].front().rows_left);
  }
  return rows;
}

absl::Status MixedDataset::start_epoch(int64_t epoch) {
  MixPosition begin;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const EpochSource& source = *sources_[i];
    PassPosition& pass = begin.sources.emplace_back(SourcePosition{source.begin(epoch)}).front();
    if (!options_.data.mix().source(static_cast<int>(i)).repeat()) continue;
    pass.epoch = pass_epoch(epoch, 0);
    pass.rows_left = pass_share(pass.epoch, source.rows(), options_.rank, options_.world_size);
  }
  return start(epoch, std::move(begin));
}

absl::Status MixedDataset::seek(absl::Span<const Cursor> cursors) {
  RETURN_IF_ERROR(check(cursors));
  MixPosition own;
  for (const Cursor& cursor : cursors) own.batches = std::max(own.batches, batches_of(cursor));
  if (static_cast<int64_t>(cursors.size()) == options_.world_size) {
    own.batches = batches_of(cursors[options_.rank]);
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    ASSIGN_OR_RETURN(own.sources.emplace_back(), resume_source(i, cursors),
                     entry("mix.source", options_.mix_parts[i].source,
                           options_.data.mix().source(static_cast<int>(i)).name()));
  }
  return start(cursors.front().epoch, std::move(own));
}

absl::Status MixedDataset::check(absl::Span<const Cursor> cursors) const {
  if (cursors.empty()) return absl::InvalidArgumentError("no cursors to continue from");
  for (const Cursor& cursor : cursors) {
    if (cursor.epoch != cursors.front().epoch) {
      return absl::InvalidArgumentError(absl::StrCat("the cursors are of epochs ",
                                                     cursors.front().epoch, " and ", cursor.epoch,
                                                     "; they must be of one"));
    }
    const bool is_other = cursor.fingerprint != 0 && cursor.fingerprint != fingerprint_;
    const bool has_other_sources =
        is_open(cursor) && cursor.mix()->sources.size() != sources_.size();
    if (!is_other && !has_other_sources && cursor.rows_left().empty()) continue;
    return absl::InvalidArgumentError(
        "the cursors are of other data, or of another order of it: the sources of the mix, their "
        "files, shuffle_rows, split, sample or repeat, or the seed changed");
  }
  return absl::OkStatus();
}

absl::StatusOr<SourcePosition> MixedDataset::resume_source(size_t index,
                                                           absl::Span<const Cursor> cursors) const {
  const EpochSource& source = *sources_[index];
  const int64_t epoch = cursors.front().epoch;
  std::vector<SourcePosition> ranks;
  for (const Cursor& cursor : cursors) {
    SourcePosition& rank = ranks.emplace_back();
    if (!is_open(cursor)) continue;
    rank = cursor.mix()->sources[index];
    for (const PassPosition& pass : rank) {
      RETURN_IF_ERROR(source.check_fingerprint(pass.fingerprint));
    }
  }
  // Ranks may be in different passes of a source that repeats. Any other source has one pass.
  if (options_.data.mix().source(static_cast<int>(index)).repeat()) {
    return resume_passes(ranks, epoch, source.rows(), options_.rank, options_.world_size);
  }
  std::vector<PassPosition> passes;
  for (const SourcePosition& rank : ranks) {
    passes.push_back(rank.empty() ? PassPosition{.epoch = epoch} : rank.front());
    if (passes.back().epoch == epoch && rank.size() <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a cursor of epoch ", epoch, " has a part of epoch ", rank.back().epoch));
  }
  ASSIGN_OR_RETURN(PassPosition own, source.resume(passes));
  return SourcePosition{std::move(own)};
}

absl::Status MixedDataset::start(int64_t epoch, MixPosition position) {
  Cursor cursor{.epoch = epoch, .left = std::move(position), .fingerprint = fingerprint_};
  return run_.start([&] { return std::make_unique<Run>(options_, sources_, cursor); });
}

absl::StatusOr<std::optional<Batch>> MixedDataset::next() { return run_.next(); }

absl::StatusOr<DataIdentity> MixedDataset::identity() const {
  DataIdentity all;
  for (const auto& source : sources_) {
    ASSIGN_OR_RETURN(
        const DataIdentity own,
        data_identity(*options_.files, source->files(),
                      /*may_be_missing=*/source->options().data.bad_data() == DataConfig::SKIP));
    all.MergeFrom(own);
  }
  *all.mutable_column() = hashed_columns();
  return all;
}

HashedColumns MixedDataset::hashed_columns() const {
  std::vector<HashedColumns> columns;
  for (const auto& source : sources_) columns.push_back(source->blocks().hashed_columns());
  return common_hashed_columns(columns);
}

int64_t MixedDataset::file_count() const {
  int64_t files = 0;
  for (const auto& source : sources_) files += static_cast<int64_t>(source->files().size());
  return files;
}

void MixedDataset::cancel() { run_.cancel(); }

std::string MixedDataset::files_being_read() const {
  std::vector<std::string> paths;
  for (const auto& source : sources_) {
    std::string some = source->blocks().files_being_read();
    if (!some.empty()) paths.push_back(std::move(some));
  }
  return absl::StrJoin(paths, ", ");
}

}  // namespace millrace
