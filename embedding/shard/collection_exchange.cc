#include "embedding/shard/collection_exchange.h"

#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "embedding/shard/frame_part.h"
#include "embedding/shard/shard_plans.h"

namespace millrace {

struct CollectionExchange::Section {
  size_t count = 0;  // number of ids
  absl::string_view counts, bits, values;
};

bool CollectionExchange::sharded() const { return plans_.sharded(); }

const Placement& CollectionExchange::placement() const { return plans_.placement(); }

void CollectionExchange::begin(bool training) {
  collection_.discard();
  plans_.begin(training);
  if (!sharded()) return;
  row_copies_.resize(placement().world_size);
  sum_copies_.resize(placement().world_size);
}

void CollectionExchange::repeat() { plans_.repeat(); }

void CollectionExchange::set_rows_of_all_ranks(absl::Span<const int64_t> rows) {
  for (int64_t t = 0; t < plans_.tables(); ++t) plans_.table(t).set_rows_of_all_ranks(rows[t]);
}

absl::Status CollectionExchange::request(const KeyedJagged& features) {
  return collection_.for_each_feature(
      features, [this](int64_t t, absl::Span<const int64_t> ids) { plans_.request(t, ids); });
}

PartHeader CollectionExchange::header(PartKind kind) const {
  return {static_cast<uint32_t>(kind), static_cast<uint32_t>(plans_.tables()),
          plans_.fingerprint()};
}

void CollectionExchange::write_part(PartKind kind, const std::vector<size_t>& bytes,
                                    ByteBuffer& frame,
                                    const std::function<void(int64_t table, char* to)>& write) {
  std::vector<size_t> begins;
  size_t end = sizeof(PartHeader);
  for (const size_t of_table : bytes) {
    begins.push_back(end);
    end += of_table;
  }
  char* const part = frame.extend(end);
  const PartHeader header = this->header(kind);
  std::memcpy(part, &header, sizeof header);
  collection_.for_each_table(static_cast<int64_t>(end / sizeof(uint64_t)), [&](int64_t t) {
    if (bytes[t] > 0) write(t, part + begins[t]);
  });
}

absl::Status CollectionExchange::for_each(int64_t ids,
                                          const std::function<absl::Status(int64_t)>& body) {
  std::vector<absl::Status> statuses(plans_.tables());
  collection_.for_each_table(ids, [&](int64_t t) { statuses[t] = body(t); });
  for (absl::Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return absl::OkStatus();
}

// ---- ids ----

void CollectionExchange::write_ids(int owner, ByteBuffer& frame) {
  std::vector<size_t> bytes;
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    bytes.push_back(sizeof(uint64_t) * (1 + plans_.requests(t).places_of(owner).size()));
  }
  write_part(PartKind::kIds, bytes, frame, [&](int64_t t, char* to) {
    const size_t count = plans_.requests(t).places_of(owner).size();
    PieceWriter writer(to);
    writer.number(count);
    plans_.requests(t).copy_ids_of(owner, writer.piece(sizeof(int64_t) * count));
  });
}

absl::Status CollectionExchange::read_rows(int rank, absl::string_view& ids, ByteBuffer& rows) {
  const std::string what = absl::StrCat("ids of rank ", rank);
  PieceReader reader(what, ids);
  RETURN_IF_ERROR(reader.header(header(PartKind::kIds)));
  // Checks the whole frame before any plan changes.
  std::vector<absl::string_view> wanted;
  int64_t count = 0;
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    ASSIGN_OR_RETURN(const uint64_t of_table, reader.number(plans_.name(t)));
    ASSIGN_OR_RETURN(wanted.emplace_back(),
                     reader.piece(plans_.name(t), of_table, sizeof(int64_t)));
    count += static_cast<int64_t>(of_table);
  }
  RETURN_IF_ERROR(for_each(count, [&](int64_t t) {
    MILLRACE_CHECK(plans_.owner(t).ids(rank) == 0) << "ids of rank " << rank << " were read before";
    std::vector<int64_t> of_table(wanted[t].size() / sizeof(int64_t));
    if (!of_table.empty()) std::memcpy(of_table.data(), wanted[t].data(), wanted[t].size());
    const absl::Status found = plans_.owner(t).find(rank, of_table);
    return found.ok() ? absl::OkStatus() : reader.damaged(plans_.name(t), found.message());
  }));

  // The size of each table's piece is known before the first write, so that tables are written in
  // parallel.
  std::vector<size_t> bytes;
  const auto record_bytes = [&](int64_t t) {
    return plans_.owner(t).records(rank) * plans_.table(t).layout().weight_bytes;
  };
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    bytes.push_back(sizeof(uint64_t) * (1 + words_of_bits(plans_.owner(t).ids(rank))) +
                    padded(record_bytes(t)));
  }
  write_part(PartKind::kRows, bytes, rows, [&](int64_t t, char* to) {
    const OwnerPlan& owner = plans_.owner(t);
    PieceWriter writer(to);
    writer.number(owner.ids(rank));
    char* const bits = writer.zeros(8 * words_of_bits(owner.ids(rank)));
    for (size_t i = 0; i < owner.ids(rank); ++i) {
      if (owner.has_record(rank, i)) set_bit(bits, i);
    }
    owner.copy_records(rank, writer.piece(record_bytes(t)));
  });
  return absl::OkStatus();
}

// ---- rows ----

const char* CollectionExchange::aligned(const char* begin, const char* end,
                                        ByteBuffer& copy) const {
  if (reinterpret_cast<uintptr_t>(begin) % sizeof(uint64_t) == 0) return begin;
  copy.clear();
  copy.append({begin, static_cast<size_t>(end - begin)});
  return copy.data();
}

absl::Status CollectionExchange::parse_rows(int owner, absl::string_view& rows,
                                            std::vector<Section>& sections) {
  const std::string what = absl::StrCat("rows of rank ", owner);
  PieceReader reader(what, rows);
  RETURN_IF_ERROR(reader.header(header(PartKind::kRows)));
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    Section& section = sections[t];
    ASSIGN_OR_RETURN(section.count, reader.number(plans_.name(t)));
    if (section.count != plans_.requests(t).places_of(owner).size()) {
      return reader.damaged(plans_.name(t),
                            absl::StrCat(section.count, " rows instead of ",
                                         plans_.requests(t).places_of(owner).size()));
    }
    ASSIGN_OR_RETURN(section.bits, reader.bits(plans_.name(t), section.count));
    ASSIGN_OR_RETURN(section.values,
                     reader.piece(plans_.name(t), count_bits(section.bits.data(), section.count),
                                  plans_.table(t).layout().weight_bytes));
  }
  return absl::OkStatus();
}

absl::Status CollectionExchange::receive_rows(int owner, absl::string_view& rows) {
  const char* const begin = rows.data();
  std::vector<Section> sections(plans_.tables());
  RETURN_IF_ERROR(parse_rows(owner, rows, sections));
  const char* const part = aligned(begin, rows.data(), row_copies_[owner]);
  collection_.for_each_table((rows.data() - begin) / static_cast<int64_t>(sizeof(uint64_t)),
                             [&](int64_t t) {
                               RequestPlan& requests = plans_.requests(t);
                               const absl::Span<const uint32_t> places = requests.places_of(owner);
                               const char* record = part + (sections[t].values.data() - begin);
                               for (size_t i = 0; i < places.size(); ++i) {
                                 if (bit_of(sections[t].bits.data(), i)) {
                                   requests.set_record(places[i], record);
                                   record += plans_.table(t).layout().weight_bytes;
                                 } else {
                                   requests.set_no_record(places[i]);
                                 }
                               }
                             });
  return absl::OkStatus();
}

// ---- sums ----

void CollectionExchange::write_sums(int owner, ByteBuffer& frame) {
  std::vector<size_t> bytes(plans_.tables()), gradients(plans_.tables());
  int64_t ids = 0;
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    ids += static_cast<int64_t>(plans_.requests(t).ids().size());
  }
  // The sums of all tables must exist before sizes are known. add_up() is idempotent, so the calls
  // for later owners are cheap.
  collection_.for_each_table(ids, [&](int64_t t) {
    if (plans_.frozen(t)) return;
    RequestPlan& requests = plans_.requests(t);
    requests.lookups().add_up();
    const absl::Span<const uint32_t> places = requests.places_of(owner);
    for (const uint32_t place : places) gradients[t] += requests.sum(place) != nullptr ? 1 : 0;
    bytes[t] = sizeof(uint64_t) * (1 + words_of_bits(places.size())) +
               padded(sizeof(uint32_t) * places.size()) +
               padded(sizeof(float) * gradients[t] * plans_.table(t).dim());
  });
  write_part(PartKind::kSums, bytes, frame, [&](int64_t t, char* to) {
    const RequestPlan& requests = plans_.requests(t);
    const absl::Span<const uint32_t> places = requests.places_of(owner);
    const size_t sum_bytes = sizeof(float) * plans_.table(t).dim();
    PieceWriter writer(to);
    writer.number(places.size());
    char* count = writer.piece(sizeof(uint32_t) * places.size());
    char* const bits = writer.zeros(8 * words_of_bits(places.size()));
    char* sum = writer.piece(sum_bytes * gradients[t]);
    for (size_t i = 0; i < places.size(); ++i, count += sizeof(uint32_t)) {
      const uint32_t times = requests.count(places[i]);
      std::memcpy(count, &times, sizeof times);
      const float* const gradient = requests.sum(places[i]);
      if (gradient == nullptr) continue;
      set_bit(bits, i);
      std::memcpy(sum, gradient, sum_bytes);
      sum += sum_bytes;
    }
  });
}

absl::Status CollectionExchange::parse_sums(int rank, absl::string_view& sums,
                                            std::vector<Section>& sections) {
  const std::string what = absl::StrCat("gradients of rank ", rank);
  PieceReader reader(what, sums);
  RETURN_IF_ERROR(reader.header(header(PartKind::kSums)));
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    if (plans_.frozen(t)) continue;
    Section& section = sections[t];
    ASSIGN_OR_RETURN(section.count, reader.number(plans_.name(t)));
    if (section.count != plans_.owner(t).ids(rank)) {
      return reader.damaged(
          plans_.name(t), absl::StrCat("they are of ", section.count,
                                       " ids, but the rank asked for ", plans_.owner(t).ids(rank)));
    }
    ASSIGN_OR_RETURN(section.counts, reader.piece(plans_.name(t), section.count, sizeof(uint32_t)));
    ASSIGN_OR_RETURN(section.bits, reader.bits(plans_.name(t), section.count));
    ASSIGN_OR_RETURN(section.values,
                     reader.piece(plans_.name(t), count_bits(section.bits.data(), section.count),
                                  sizeof(float) * plans_.table(t).dim()));
  }
  return absl::OkStatus();
}

absl::Status CollectionExchange::receive_sums(int rank, absl::string_view& sums) {
  const char* const begin = sums.data();
  std::vector<Section> sections(plans_.tables());
  RETURN_IF_ERROR(parse_sums(rank, sums, sections));
  const char* const part = aligned(begin, sums.data(), sum_copies_[rank]);
  return for_each((sums.data() - begin) / static_cast<int64_t>(sizeof(uint64_t)), [&](int64_t t) {
    if (plans_.frozen(t)) return absl::OkStatus();
    Section section = sections[t];
    section.values = {part + (section.values.data() - begin), section.values.size()};
    return set_remote_sums(rank, t, section);
  });
}

absl::Status CollectionExchange::set_remote_sums(int rank, int64_t table, const Section& section) {
  OwnerPlan& owner = plans_.owner(table);
  std::vector<uint32_t> counts(section.count);
  if (section.count > 0) std::memcpy(counts.data(), section.counts.data(), section.counts.size());
  std::vector<const float*> gradients(section.count, nullptr);
  const auto* gradient = reinterpret_cast<const float*>(section.values.data());
  for (size_t i = 0; i < section.count; ++i) {
    if (!bit_of(section.bits.data(), i)) continue;
    if (counts[i] == 0 || !owner.has_record(rank, i)) {
      return absl::DataLossError(absl::StrCat("gradients of rank ", rank, ", table ",
                                              plans_.name(table), ": there is one of an id that ",
                                              counts[i] == 0 ? "was not looked up" : "has no row"));
    }
    gradients[i] = gradient;
    gradient += plans_.table(table).dim();
  }
  owner.set_sums(rank, std::move(counts), std::move(gradients));
  return absl::OkStatus();
}

// ---- totals ----

ShardTotals CollectionExchange::owned_totals(bool with_norm) {
  const auto tables = static_cast<size_t>(plans_.tables());
  ShardTotals totals;
  totals.not_finite.resize(tables);
  totals.new_rows.resize(tables);
  std::vector<double> norms(tables);
  int64_t ids = 0;
  for (size_t t = 0; t < tables; ++t) ids += plans_.requests(t).lookups().occurrences();
  collection_.for_each_table(ids, [&](int64_t t) {
    // Both checks run even if the first one fails, since later calls need add_up().
    bool finite = collection_.gradients_are_finite(t);
    if (!plans_.frozen(t)) {
      plans_.take_own_sums(t);
      OwnerPlan& owner = plans_.owner(t);
      const bool sums_are_finite = owner.add_up();
      finite = finite && sums_are_finite;
      totals.new_rows[t] = owner.new_rows();
      if (finite && with_norm) norms[t] = owner.squared_norm();
    }
    totals.not_finite[t] = finite ? 0 : 1;
  });
  if (totals.finite()) {
    for (const double norm : norms) totals.squared_norm += norm;
  }
  return totals;
}

void CollectionExchange::set_totals(const ShardTotals& of_all_ranks) {
  plans_.set_totals(of_all_ranks);
}

absl::Status CollectionExchange::check_limits() const {
  if (!plans_.totals().has_value()) return absl::OkStatus();
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    if (plans_.frozen(t)) continue;
    RETURN_IF_ERROR(plans_.table(t).check_new_rows(plans_.totals()->new_rows[t]));
  }
  return absl::OkStatus();
}

absl::Status CollectionExchange::check_own_rows() const {
  for (int64_t t = 0; t < plans_.tables(); ++t) {
    if (plans_.frozen(t)) continue;
    RETURN_IF_ERROR(plans_.table(t).check_own_new_rows(plans_.owner(t).new_rows()));
  }
  return absl::OkStatus();
}

}  // namespace millrace
