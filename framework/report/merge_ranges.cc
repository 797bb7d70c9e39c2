#include "framework/report/merge_ranges.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/byte_buffer.h"
#include "base/byte_stream.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"

namespace millrace {
namespace {

// Splits the message of each other rank into the strings of each metric.
absl::StatusOr<std::vector<std::vector<absl::string_view>>> by_metric(
    absl::Span<const ByteBuffer> received, int own_rank, size_t metrics) {
  std::vector<std::vector<absl::string_view>> pieces(metrics);
  for (int rank = 0; rank < static_cast<int>(received.size()); ++rank) {
    if (rank == own_rank) continue;
    ByteReader reader(received[rank].view());
    for (std::vector<absl::string_view>& metric : pieces) metric.push_back(reader.read_string());
    if (!reader.done()) {
      return absl::DataLossError(
          absl::StrCat("rank ", rank, " sent examples that are not of ", metrics, " metrics"));
    }
  }
  return pieces;
}

// Exchanges the examples, so that each rank has its ranges.
absl::Status exchange_ranges(absl::Span<RangedMetric* const> metrics, Collectives& collectives) {
  const int rank = collectives.rank();
  std::vector<ByteBuffer> sent(collectives.world_size()), received(sent.size());
  for (RangedMetric* metric : metrics) metric->write_ranges(rank, absl::MakeSpan(sent));
  RETURN_IF_ERROR(collectives.start_exchange(sent, absl::MakeSpan(received))->wait());
  sent.clear();
  ASSIGN_OR_RETURN(const auto pieces, by_metric(received, rank, metrics.size()));
  for (size_t i = 0; i < metrics.size(); ++i) RETURN_IF_ERROR(metrics[i]->read_ranges(pieces[i]));
  return absl::OkStatus();
}

// Passes the sums from rank to rank. All ranks receive the sums of each rank in turn, so a rank
// that fails is noticed by all.
absl::Status pass_sums(absl::Span<RangedMetric* const> metrics, Collectives& collectives) {
  for (int root = 0; root < collectives.world_size(); ++root) {
    ByteWriter writer;
    if (collectives.rank() == root) {
      for (RangedMetric* metric : metrics) metric->add_range(&writer);
    }
    ASSIGN_OR_RETURN(const std::string sums, collectives.broadcast(writer.bytes(), root));
    ByteReader reader(sums);
    for (RangedMetric* metric : metrics) RETURN_IF_ERROR(metric->read_sums(&reader));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status merge_ranges(absl::Span<RangedMetric* const> metrics, Collectives& collectives) {
  std::vector<RangedMetric*> partial;
  for (RangedMetric* metric : metrics) {
    if (metric->is_partial()) partial.push_back(metric);
  }
  if (partial.empty()) return absl::OkStatus();
  const absl::Status status = catch_exceptions("merging metrics over ranks", [&] {
    RETURN_IF_ERROR(exchange_ranges(partial, collectives));
    return pass_sums(partial, collectives);
  });
  // No other rank knows a failure of this rank alone.
  if (!status.ok()) collectives.fail(status);
  return status;
}

}  // namespace millrace
