#include "io/mix/mix_batcher.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "io/epoch/batcher.h"
#include "io/mix/mix_shares.h"

namespace millrace {

MixBatcher::MixBatcher(MixOptions options, std::vector<MixSourceReader*> sources, MixPosition start,
                       Cursor cursor)
    : options_(std::move(options)),
      sources_(std::move(sources)),
      position_(std::move(start)),
      cursor_(std::move(cursor)) {}

absl::StatusOr<std::optional<Batch>> MixBatcher::next() {
  const bool first_ends = options_.until == MixConfig::FIRST_ENDS;
  ASSIGN_OR_RETURN(const Counts counts, first_ends ? until_first_ends() : until_all_end());
  const int64_t size = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (size == 0 || (size < options_.batch_size && options_.drop_remainder)) return std::nullopt;
  std::vector<BatchPiece> pieces;
  for (size_t i = 0; i < sources_.size(); ++i) sources_[i]->take(counts[i], &pieces);
  Batch batch = build_batch(pieces);
  ++position_.batches;
  for (size_t i = 0; i < sources_.size(); ++i) {
    batch.bad_examples += sources_[i]->release();
    position_.sources[i] = sources_[i]->position();
  }
  batch.cursor = cursor_;
  batch.cursor.left = position_;
  return batch;
}

absl::StatusOr<MixBatcher::Counts> MixBatcher::until_first_ends() {
  ASSIGN_OR_RETURN(const std::vector<bool> left, find_those_left());
  Counts counts(sources_.size(), 0);
  if (std::find(left.begin(), left.end(), false) != left.end()) return counts;
  const Counts wanted = shares(left, options_.batch_size);
  // The source of which the smallest part of its share is left: `most` of `of` rows.
  int64_t most = 1, of = 1;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (wanted[i] == 0) continue;
    ASSIGN_OR_RETURN(const int64_t ready, sources_[i]->available(wanted[i]));
    if (ready * of < most * wanted[i]) {
      most = ready;
      of = wanted[i];
    }
  }
  for (size_t i = 0; i < sources_.size(); ++i) counts[i] = wanted[i] * most / of;
  return counts;
}

absl::StatusOr<MixBatcher::Counts> MixBatcher::until_all_end() {
  ASSIGN_OR_RETURN(std::vector<bool> among, find_those_left());
  Counts counts(sources_.size(), 0);
  if (all_repeat(among)) return counts;
  const Counts wanted = shares(among, options_.batch_size);
  int64_t places = options_.batch_size;
  while (places > 0 && !all_repeat(among)) {
    const Counts more = shares(among, places);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (more[i] == 0) continue;
      ASSIGN_OR_RETURN(const int64_t ready, sources_[i]->available(counts[i] + more[i]));
      among[i] = ready == counts[i] + more[i];
      places -= ready - counts[i];
      counts[i] = ready;
    }
  }
  if (places > 0) shrink_repeating(wanted, &counts);
  return counts;
}

// Which sources have rows: what is known of that must not depend on what batches asked for before.
absl::StatusOr<std::vector<bool>> MixBatcher::find_those_left() {
  std::vector<bool> left;
  for (MixSourceReader* source : sources_) {
    int64_t ready = 1;
    if (!source->repeats()) {
      ASSIGN_OR_RETURN(ready, source->available(1));
    }
    left.push_back(ready > 0);
  }
  return left;
}

MixBatcher::Counts MixBatcher::shares(const std::vector<bool>& among, int64_t size) const {
  std::vector<double> proportions = options_.proportions;
  for (size_t i = 0; i < among.size(); ++i) {
    if (!among[i]) proportions[i] = 0;
  }
  // Ranks are in different places of the sequence, so that all of them together are even.
  const int64_t index = position_.batches * options_.world_size + options_.rank;
  return mix_shares(proportions, size, static_cast<uint64_t>(index));
}

bool MixBatcher::all_repeat(const std::vector<bool>& among) const {
  for (size_t i = 0; i < among.size(); ++i) {
    if (among[i] && !sources_[i]->repeats()) return false;
  }
  return true;
}

// Reduces the counts of repeating sources in proportion to the shortfall of the other sources.
void MixBatcher::shrink_repeating(const Counts& wanted, Counts* counts) const {
  int64_t have = 0, should = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]->repeats()) continue;
    have += (*counts)[i];
    should += wanted[i];
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i]->repeats() || have >= should) continue;
    (*counts)[i] = std::min((*counts)[i], wanted[i] * have / should);
  }
}

}  // namespace millrace
