#include "embedding/rows/row_layout.h"

#include "base/log.h"
#include "base/memory/block_pool.h"

namespace millrace {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

RowLayout RowLayout::create(int64_t dim, RowType type, int64_t slot_floats) {
  constexpr auto kMetaBytes = static_cast<int64_t>(sizeof(RowMeta));
  RowLayout layout;
  layout.dim = dim;
  layout.type = type;
  layout.weight_bytes = round_up(dim * row_type_bytes(type), sizeof(float));
  layout.slot_floats = slot_floats;
  layout.record_bytes = round_up(layout.content_bytes(), kAlignment);
  const bool in_record = layout.content_bytes() + kMetaBytes <= layout.record_bytes;
  layout.meta_stride = in_record ? layout.record_bytes : kMetaBytes;
  const int64_t head_meta_bytes = in_record ? 0 : kMetaBytes;
  // The maximum number of rows per block with their ids, bits and metas. The loop reduces the
  // number until the alignment also fits.
  const int64_t head_bits = 8 * (head_meta_bytes + static_cast<int64_t>(sizeof(int64_t))) + 1;
  int64_t rows = 8 * BlockPool::kBlockBytes / (head_bits + 8 * layout.record_bytes);
  do {
    layout.ids_at = rows * head_meta_bytes;
    layout.bits_at = layout.ids_at + rows * static_cast<int64_t>(sizeof(int64_t));
    layout.records_at = round_up(layout.bits_at + round_up(rows, 64) / 8, kAlignment);
  } while (layout.records_at + rows * layout.record_bytes > BlockPool::kBlockBytes && --rows > 0);
  MILLRACE_CHECK(rows > 1) << "rows of " << layout.record_bytes << " bytes are too wide";
  layout.rows_per_block = static_cast<uint64_t>(rows);
  layout.reciprocal = ~uint64_t{0} / layout.rows_per_block + 1;
  layout.metas_at = in_record ? layout.records_at + layout.content_bytes() : 0;
  return layout;
}

}  // namespace millrace
