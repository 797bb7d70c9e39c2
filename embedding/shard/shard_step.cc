#include "embedding/shard/shard_step.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {

struct ShardStep::Section {
  size_t count = 0;  // ids
  absl::string_view counts, bits, values;
};

ShardStep::ShardStep(std::vector<Table> tables, const Placement& placement, EachTable each_table)
    : tables_(std::move(tables)),
      placement_(placement),
      each_table_(std::move(each_table)),
      row_copies_(placement.world_size),
      sum_copies_(placement.world_size) {
  std::string all;
  for (const Table& table : tables_) {
    requests_.push_back(std::make_unique<RequestPlan>(*table.table, placement));
    owners_.push_back(std::make_unique<OwnerPlan>(*table.table, placement));
    absl::StrAppend(&all, table.table->name(), "\n", table.table->dim(), " ",
                    static_cast<int>(table.table->store().type()), " ", table.frozen, "\n");
  }
  fingerprint_ = xxh3(all, placement.world_size);
}

void ShardStep::begin(bool training) {
  training_ = training;
  for (int64_t t = 0; t < tables(); ++t) {
    requests_[t]->begin();
    owners_[t]->begin(training && !tables_[t].frozen);
  }
}

void ShardStep::discard() {
  for (int64_t t = 0; t < tables(); ++t) {
    requests_[t]->discard();
    owners_[t]->discard();
  }
}

void ShardStep::request(int64_t table, absl::Span<const int64_t> ids) {
  RequestPlan& requests = *requests_[table];
  OwnerPlan& owner = *owners_[table];
  const int self = placement_.rank;
  const size_t known = owner.ids(self);
  requests.request(ids);
  // Ids of this rank that are new.
  const absl::Span<const uint32_t> places = requests.places_of(self).subspan(known);
  std::vector<int64_t> own;
  own.reserve(places.size());
  for (const uint32_t place : places) own.push_back(requests.ids()[place]);
  const absl::Status found = owner.find(self, own);
  MILLRACE_CHECK(found.ok()) << found;
  for (size_t i = 0; i < places.size(); ++i) {
    if (owner.has_record(self, known + i)) {
      requests.set_record(places[i], owner.record(self, known + i));
    } else {
      requests.set_no_record(places[i]);
    }
  }
}

PartHeader ShardStep::header(PartKind kind) const {
  return {static_cast<uint32_t>(kind), static_cast<uint32_t>(tables()), fingerprint_};
}

void ShardStep::write_part(PartKind kind, const std::vector<size_t>& bytes, ByteBuffer& frame,
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
  each_table_(static_cast<int64_t>(end / sizeof(uint64_t)), [&](int64_t t) {
    if (bytes[t] > 0) write(t, part + begins[t]);
  });
}

absl::Status ShardStep::for_each(int64_t ids, const std::function<absl::Status(int64_t)>& body) {
  std::vector<absl::Status> statuses(tables_.size());
  each_table_(ids, [&](int64_t t) { statuses[t] = body(t); });
  for (absl::Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return absl::OkStatus();
}

// ---- ids ----

void ShardStep::write_ids(int owner, ByteBuffer& frame) {
  std::vector<size_t> bytes;
  for (const auto& requests : requests_) {
    bytes.push_back(sizeof(uint64_t) * (1 + requests->places_of(owner).size()));
  }
  write_part(PartKind::kIds, bytes, frame, [&](int64_t t, char* to) {
    const size_t count = requests_[t]->places_of(owner).size();
    PieceWriter writer(to);
    writer.number(count);
    requests_[t]->copy_ids_of(owner, writer.piece(sizeof(int64_t) * count));
  });
}

absl::Status ShardStep::read_rows(int rank, absl::string_view& ids, ByteBuffer& rows) {
  const std::string what = absl::StrCat("ids of rank ", rank);
  PieceReader reader(what, ids);
  RETURN_IF_ERROR(reader.header(header(PartKind::kIds)));
  std::vector<absl::string_view> wanted;
  int64_t count = 0;
  for (int64_t t = 0; t < tables(); ++t) {
    ASSIGN_OR_RETURN(const uint64_t of_table, reader.number(name(t)));
    ASSIGN_OR_RETURN(wanted.emplace_back(), reader.piece(name(t), of_table, sizeof(int64_t)));
    count += static_cast<int64_t>(of_table);
  }
  RETURN_IF_ERROR(for_each(count, [&](int64_t t) {
    MILLRACE_CHECK(owners_[t]->ids(rank) == 0) << "ids of rank " << rank << " were read before";
    std::vector<int64_t> of_table(wanted[t].size() / sizeof(int64_t));
    if (!of_table.empty()) std::memcpy(of_table.data(), wanted[t].data(), wanted[t].size());
    const absl::Status found = owners_[t]->find(rank, of_table);
    return found.ok() ? absl::OkStatus() : reader.damaged(name(t), found.message());
  }));

  std::vector<size_t> bytes;
  const auto record_bytes = [&](int64_t t) {
    return owners_[t]->records(rank) * tables_[t].table->store().weight_bytes();
  };
  for (int64_t t = 0; t < tables(); ++t) {
    bytes.push_back(sizeof(uint64_t) * (1 + words_of_bits(owners_[t]->ids(rank))) +
                    padded(record_bytes(t)));
  }
  write_part(PartKind::kRows, bytes, rows, [&](int64_t t, char* to) {
    const OwnerPlan& owner = *owners_[t];
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

const char* ShardStep::aligned(const char* begin, const char* end, ByteBuffer& copy) const {
  if (reinterpret_cast<uintptr_t>(begin) % sizeof(uint64_t) == 0) return begin;
  copy.clear();
  copy.append({begin, static_cast<size_t>(end - begin)});
  return copy.data();
}

absl::Status ShardStep::parse_rows(int owner, absl::string_view& rows,
                                   std::vector<Section>& sections) {
  const std::string what = absl::StrCat("rows of rank ", owner);
  PieceReader reader(what, rows);
  RETURN_IF_ERROR(reader.header(header(PartKind::kRows)));
  for (int64_t t = 0; t < tables(); ++t) {
    Section& section = sections[t];
    ASSIGN_OR_RETURN(section.count, reader.number(name(t)));
    if (section.count != requests_[t]->places_of(owner).size()) {
      return reader.damaged(name(t), absl::StrCat(section.count, " rows instead of ",
                                                  requests_[t]->places_of(owner).size()));
    }
    ASSIGN_OR_RETURN(section.bits, reader.bits(name(t), section.count));
    ASSIGN_OR_RETURN(section.values,
                     reader.piece(name(t), count_bits(section.bits.data(), section.count),
                                  tables_[t].table->store().weight_bytes()));
  }
  return absl::OkStatus();
}

absl::Status ShardStep::receive_rows(int owner, absl::string_view& rows) {
  const char* const begin = rows.data();
  std::vector<Section> sections(tables_.size());
  RETURN_IF_ERROR(parse_rows(owner, rows, sections));
  const char* const part = aligned(begin, rows.data(), row_copies_[owner]);
  each_table_((rows.data() - begin) / static_cast<int64_t>(sizeof(uint64_t)), [&](int64_t t) {
    RequestPlan& requests = *requests_[t];
    const absl::Span<const uint32_t> places = requests.places_of(owner);
    const char* record = part + (sections[t].values.data() - begin);
    for (size_t i = 0; i < places.size(); ++i) {
      if (bit_of(sections[t].bits.data(), i)) {
        requests.set_record(places[i], record);
        record += tables_[t].table->store().weight_bytes();
      } else {
        requests.set_no_record(places[i]);
      }
    }
  });
  return absl::OkStatus();
}

// ---- sums ----

void ShardStep::write_sums(int owner, ByteBuffer& frame) {
  std::vector<size_t> bytes(tables_.size()), gradients(tables_.size());
  int64_t ids = 0;
  for (const auto& requests : requests_) ids += static_cast<int64_t>(requests->ids().size());
  each_table_(ids, [&](int64_t t) {
    if (tables_[t].frozen) return;
    RequestPlan& requests = *requests_[t];
    requests.lookups().add_up();
    const absl::Span<const uint32_t> places = requests.places_of(owner);
    for (const uint32_t place : places) gradients[t] += requests.sum(place) != nullptr ? 1 : 0;
    bytes[t] = sizeof(uint64_t) * (1 + words_of_bits(places.size())) +
               padded(sizeof(uint32_t) * places.size()) +
               padded(sizeof(float) * gradients[t] * tables_[t].table->dim());
  });
  write_part(PartKind::kSums, bytes, frame, [&](int64_t t, char* to) {
    const RequestPlan& requests = *requests_[t];
    const absl::Span<const uint32_t> places = requests.places_of(owner);
    const size_t sum_bytes = sizeof(float) * tables_[t].table->dim();
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

absl::Status ShardStep::parse_sums(int rank, absl::string_view& sums,
                                   std::vector<Section>& sections) {
  const std::string what = absl::StrCat("gradients of rank ", rank);
  PieceReader reader(what, sums);
  RETURN_IF_ERROR(reader.header(header(PartKind::kSums)));
  for (int64_t t = 0; t < tables(); ++t) {
    if (tables_[t].frozen) continue;
    Section& section = sections[t];
    ASSIGN_OR_RETURN(section.count, reader.number(name(t)));
    if (section.count != owners_[t]->ids(rank)) {
      return reader.damaged(
          name(t), absl::StrCat("they are of ", section.count, " ids, but the rank asked for ",
                                owners_[t]->ids(rank)));
    }
    ASSIGN_OR_RETURN(section.counts, reader.piece(name(t), section.count, sizeof(uint32_t)));
    ASSIGN_OR_RETURN(section.bits, reader.bits(name(t), section.count));
    ASSIGN_OR_RETURN(section.values,
                     reader.piece(name(t), count_bits(section.bits.data(), section.count),
                                  sizeof(float) * tables_[t].table->dim()));
  }
  return absl::OkStatus();
}

absl::Status ShardStep::receive_sums(int rank, absl::string_view& sums) {
  const char* const begin = sums.data();
  std::vector<Section> sections(tables_.size());
  RETURN_IF_ERROR(parse_sums(rank, sums, sections));
  const char* const part = aligned(begin, sums.data(), sum_copies_[rank]);
  return for_each((sums.data() - begin) / static_cast<int64_t>(sizeof(uint64_t)), [&](int64_t t) {
    if (tables_[t].frozen) return absl::OkStatus();
    Section section = sections[t];
    section.values = {part + (section.values.data() - begin), section.values.size()};
    return set_remote_sums(rank, t, section);
  });
}

absl::Status ShardStep::set_remote_sums(int rank, int64_t table, const Section& section) {
  OwnerPlan& owner = *owners_[table];
  std::vector<uint32_t> counts(section.count);
  if (section.count > 0) std::memcpy(counts.data(), section.counts.data(), section.counts.size());
  std::vector<const float*> gradients(section.count, nullptr);
  const auto* gradient = reinterpret_cast<const float*>(section.values.data());
  for (size_t i = 0; i < section.count; ++i) {
    if (!bit_of(section.bits.data(), i)) continue;
    if (counts[i] == 0 || !owner.has_record(rank, i)) {
      return absl::DataLossError(absl::StrCat("gradients of rank ", rank, ", table ", name(table),
                                              ": there is one of an id that ",
                                              counts[i] == 0 ? "was not looked up" : "has no row"));
    }
    gradients[i] = gradient;
    gradient += tables_[table].table->dim();
  }
  owner.set_sums(rank, std::move(counts), std::move(gradients));
  return absl::OkStatus();
}

void ShardStep::take_own_sums(int64_t table) {
  RequestPlan& requests = *requests_[table];
  requests.lookups().add_up();
  const absl::Span<const uint32_t> places = requests.places_of(placement_.rank);
  std::vector<uint32_t> counts;
  std::vector<const float*> gradients;
  counts.reserve(places.size());
  gradients.reserve(places.size());
  for (const uint32_t place : places) {
    counts.push_back(requests.count(place));
    gradients.push_back(requests.sum(place));
  }
  owners_[table]->set_sums(placement_.rank, std::move(counts), std::move(gradients));
}

}  // namespace millrace
