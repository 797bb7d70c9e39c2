#include "embedding/served/served_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace millrace {
namespace {

// At most, but for larger rows. Each of the parts of a small table has one.
constexpr int64_t kBlockBytes = 4 << 10;

// Returns the indices of `ids` by part, and where each part begins in them.
struct ByPart {
  std::vector<int32_t> order;
  std::array<int32_t, ServedTable::kParts + 1> begins = {};
};

ByPart sort_by_part(absl::Span<const int64_t> ids) {
  ByPart sorted;
  std::vector<uint8_t> parts(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    parts[i] = static_cast<uint8_t>(ServedTable::part_of(ids[i]));
    ++sorted.begins[parts[i] + 1];
  }
  for (int part = 0; part < ServedTable::kParts; ++part) {
    sorted.begins[part + 1] += sorted.begins[part];
  }
  sorted.order.resize(ids.size());
  auto next = sorted.begins;
  for (size_t i = 0; i < ids.size(); ++i) {
    sorted.order[next[parts[i]]++] = static_cast<int32_t>(i);
  }
  return sorted;
}

// Calls body(part, ids, order) for each part that has some of the ids.
template <typename Body>
void for_each_part(absl::Span<const int64_t> ids, const Body& body) {
  const ByPart sorted = sort_by_part(ids);
  std::vector<int64_t> own(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) own[i] = ids[sorted.order[i]];
  for (int part = 0; part < ServedTable::kParts; ++part) {
    const int32_t begin = sorted.begins[part], count = sorted.begins[part + 1] - begin;
    if (count == 0) continue;
    body(part, absl::MakeConstSpan(own).subspan(begin, count),
         absl::MakeConstSpan(sorted.order).subspan(begin, count));
  }
}

RowSet& part_at(int part, int64_t row_bytes, ServedTable::Parts* parts) {
  std::shared_ptr<RowSet>& set = (*parts)[part];
  if (set == nullptr) set = std::make_shared<RowSet>(row_bytes);
  return *set;
}

void copy(const RowSet& from, RowSet* to, int64_t row_bytes) {
  from.for_each([&](int64_t id, const char* row) {
    if (row != nullptr) {
      to->add({&id, 1}, {row, static_cast<size_t>(row_bytes)});
    } else {
      to->add_removed({&id, 1});
    }
  });
}

}  // namespace

RowSet::RowSet(int64_t row_bytes)
    : row_bytes_(row_bytes),
      block_bits_(std::bit_width(static_cast<uint64_t>(std::max(kBlockBytes / row_bytes, 1L))) - 1),
      block_mask_((RowIndex{1} << block_bits_) - 1) {}

int64_t RowSet::bytes() const {
  return map_.bytes() + (static_cast<int64_t>(blocks_.size()) << block_bits_) * row_bytes_;
}

void RowSet::add(absl::Span<const int64_t> ids, absl::string_view rows) {
  std::vector<RowIndex> found(ids.size());
  map_.find(ids, absl::MakeSpan(found));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (found[i] == kRemoved) map_.erase({&ids[i], 1});
  }
  map_.find_or_insert(ids, absl::MakeSpan(found), [this](int64_t) { return next_++; });
  while (static_cast<RowIndex>(blocks_.size()) << block_bits_ < next_) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(row_bytes_ << block_bits_));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    char* const block = blocks_[found[i] >> block_bits_].get();
    std::memcpy(block + (found[i] & block_mask_) * row_bytes_, rows.data() + i * row_bytes_,
                row_bytes_);
  }
}

void RowSet::add_removed(absl::Span<const int64_t> ids) {
  map_.erase(ids);
  std::vector<RowIndex> rows(ids.size());
  map_.find_or_insert(ids, absl::MakeSpan(rows), [](int64_t) { return RowIndex{kRemoved}; });
}

int ServedTable::part_of(int64_t id) { return static_cast<int>(placement_hash(id) >> 58); }
static_assert(ServedTable::kParts == 1 << 6);

void ServedTable::add(absl::Span<const int64_t> ids, absl::string_view rows, int64_t row_bytes,
                      Parts* parts) {
  std::string own;
  for_each_part(ids, [&](int part, absl::Span<const int64_t> of_part, auto order) {
    own.clear();
    for (const int32_t i : order) own.append(rows.data() + i * row_bytes, row_bytes);
    part_at(part, row_bytes, parts).add(of_part, own);
  });
}

void ServedTable::add_removed(absl::Span<const int64_t> ids, int64_t row_bytes, Parts* parts) {
  for_each_part(ids, [&](int part, absl::Span<const int64_t> of_part, auto) {
    part_at(part, row_bytes, parts).add_removed(of_part);
  });
}

ServedTable::ServedTable(int64_t row_bytes, Parts base) : row_bytes_(row_bytes) {
  for (int part = 0; part < kParts; ++part) base_[part] = std::move(base[part]);
}

std::shared_ptr<const ServedTable> ServedTable::with_delta(const Parts& changed) const {
  ConstParts overlay = overlay_;
  for (int part = 0; part < kParts; ++part) {
    if (changed[part] == nullptr) continue;
    if (overlay_[part] == nullptr) {
      overlay[part] = changed[part];
      continue;
    }
    // Readers use the old overlay, so the two become a third one.
    auto both = std::make_shared<RowSet>(row_bytes_);
    both->reserve(overlay_[part]->ids() + changed[part]->ids());
    copy(*overlay_[part], both.get(), row_bytes_);
    copy(*changed[part], both.get(), row_bytes_);
    overlay[part] = std::move(both);
  }
  return std::shared_ptr<const ServedTable>(new ServedTable(row_bytes_, base_, std::move(overlay)));
}

std::shared_ptr<const ServedTable> ServedTable::merged(int part) const {
  if (overlay_[part] == nullptr) return nullptr;
  auto rows = std::make_shared<RowSet>(row_bytes_);
  const int64_t old = base_[part] == nullptr ? 0 : base_[part]->ids();
  rows->reserve(old + overlay_[part]->ids());
  if (base_[part] != nullptr) {
    base_[part]->for_each([&](int64_t id, const char* row) {
      RowIndex now = kNoRow;
      overlay_[part]->find({&id, 1}, {&now, 1});
      if (now == kNoRow) rows->add({&id, 1}, {row, static_cast<size_t>(row_bytes_)});
    });
  }
  overlay_[part]->for_each([&](int64_t id, const char* row) {
    if (row != nullptr) rows->add({&id, 1}, {row, static_cast<size_t>(row_bytes_)});
  });
  ConstParts base = base_, overlay = overlay_;
  base[part] = std::move(rows);
  overlay[part] = nullptr;
  return std::shared_ptr<const ServedTable>(
      new ServedTable(row_bytes_, std::move(base), std::move(overlay)));
}

void ServedTable::find(absl::Span<const int64_t> ids, absl::Span<const char*> records) const {
  std::vector<RowIndex> found(ids.size());
  for_each_part(ids, [&](int part, absl::Span<const int64_t> of_part, auto order) {
    const absl::Span<RowIndex> rows = absl::MakeSpan(found).subspan(0, of_part.size());
    for (const int32_t i : order) records[i] = nullptr;
    if (base_[part] != nullptr) {
      base_[part]->find(of_part, rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] != kNoRow) records[order[i]] = base_[part]->row(rows[i]);
      }
    }
    if (overlay_[part] == nullptr) return;
    overlay_[part]->find(of_part, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == kNoRow) continue;
      const bool removed = rows[i] == RowSet::kRemoved;
      records[order[i]] = removed ? nullptr : overlay_[part]->row(rows[i]);
    }
  });
}

int64_t ServedTable::bytes() const {
  int64_t bytes = 0;
  for (int part = 0; part < kParts; ++part) {
    if (base_[part] != nullptr) bytes += base_[part]->bytes();
    if (overlay_[part] != nullptr) bytes += overlay_[part]->bytes();
  }
  return bytes;
}

int64_t ServedTable::overlay_rows() const {
  int64_t rows = 0;
  for (const auto& part : overlay_) rows += part == nullptr ? 0 : part->ids();
  return rows;
}

}  // namespace millrace
