#include "framework/report/reported_values.h"

#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr uint8_t kVersionWithoutWeights = 1;  // each value has the weight 1
constexpr uint8_t kValueStateVersion = 2;
constexpr int64_t kMostValues = int64_t{1}
                                << 40;  // of one name and rank: sums of counts stay in range

}  // namespace

void ReportedValues::add(absl::string_view name, double value, Reduction reduction, double weight) {
  Entry& entry = entries_.try_emplace(std::string(name), Entry{reduction}).first->second;
  if (entry.reduction == Reduction::kMean) value = weight == 0 ? 0 : value * weight;
  merge({entry.reduction, value, weight, 1}, entry);
}

void ReportedValues::merge(const Entry& from, Entry& into) {
  const bool first = into.count == 0;
  into.count += from.count;
  into.weight += from.weight;
  switch (into.reduction) {
    case Reduction::kMean:
    case Reduction::kSum: into.value += from.value; break;
    case Reduction::kMin:
      if (first || from.value < into.value || std::isnan(from.value)) into.value = from.value;
      break;
    case Reduction::kMax:
      if (first || from.value > into.value || std::isnan(from.value)) into.value = from.value;
      break;
    case Reduction::kLast: into.value = from.value; break;
  }
}

void ReportedValues::drain(std::map<std::string, double>* values) {
  for (const auto& [name, entry] : entries_) {
    (*values)[name] =
        entry.reduction == Reduction::kMean ? entry.value / entry.weight : entry.value;
  }
  entries_.clear();
}

std::string ReportedValues::save() const {
  ByteWriter writer;
  writer.write_uint8(kValueStateVersion);
  for (const auto& [name, entry] : entries_) {
    writer.write_string(name);
    writer.write_uint8(static_cast<uint8_t>(entry.reduction));
    writer.write_double(entry.value);
    writer.write_double(entry.weight);
    writer.write_int64(entry.count);
  }
  return writer.take();
}

absl::Status ReportedValues::load_ranks(absl::Span<const absl::string_view> ranks) {
  entries_.clear();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const absl::Status status = load_rank(static_cast<int>(rank), ranks[rank]);
    if (!status.ok()) {
      entries_.clear();
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ReportedValues::load_rank(int rank, absl::string_view bytes) {
  const absl::Status bad =
      absl::DataLossError(absl::StrCat("the reported values of rank ", rank, " are malformed"));
  ByteReader reader(bytes);
  const int version = reader.read_uint8();
  if (version != kValueStateVersion && version != kVersionWithoutWeights) return bad;
  while (reader.remaining() > 0) {
    const std::string name(reader.read_string());
    const uint8_t reduction = reader.read_uint8();
    Entry entry{.reduction = static_cast<Reduction>(reduction), .rank = rank};
    entry.value = reader.read_double();
    if (version == kValueStateVersion) entry.weight = reader.read_double();
    entry.count = reader.read_int64();
    if (version == kVersionWithoutWeights) entry.weight = static_cast<double>(entry.count);
    if (!reader.ok() || reduction > static_cast<uint8_t>(Reduction::kLast) || entry.count < 1 ||
        entry.count > kMostValues) {
      return bad;
    }
    const auto [place, inserted] = entries_.try_emplace(name, entry);
    if (inserted) continue;
    Entry& present = place->second;
    if (present.rank == rank) return bad;  // twice
    if (present.reduction != entry.reduction) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", absl::CEscape(name), "\" is reported with the reduction ",
          reduction_name(present.reduction), " by rank ", present.rank, " and with ",
          reduction_name(entry.reduction), " by rank ", rank, "; it must be the same everywhere"));
    }
    if (entry.reduction != Reduction::kLast) merge(entry, present);
  }
  return reader.ok() ? absl::OkStatus() : bad;
}

}  // namespace millrace
