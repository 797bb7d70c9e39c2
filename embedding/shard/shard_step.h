// One step of tables that are split over ranks.
#ifndef MILLRACE_EMBEDDING_SHARD_SHARD_STEP_H_
#define MILLRACE_EMBEDDING_SHARD_SHARD_STEP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "embedding/rows/placement.h"
#include "embedding/shard/frame_part.h"
#include "embedding/shard/owner_plan.h"
#include "embedding/shard/request_plan.h"
#include "embedding/table/embedding_table.h"

namespace millrace {

// A RequestPlan and an OwnerPlan for each table of a collection, and the parts of frames that carry
// ids, rows and sums between ranks. This rank's own share goes from plan to plan and is neither
// written nor copied. The order of calls is that of EmbeddingCollection. Communicates with nobody.
class ShardStep {
 public:
  struct Table {
    EmbeddingTable* table = nullptr;
    bool frozen = false;  // is only read: has no sums
  };
  // Calls body(t) for each table, on several threads if so many ids are worth it.
  using EachTable = std::function<void(int64_t ids, const std::function<void(int64_t)>& body)>;

  // Tables are borrowed.
  ShardStep(std::vector<Table> tables, const Placement& placement, EachTable each_table);

  const Placement& placement() const { return placement_; }
  bool training() const { return training_; }
  RequestPlan& requests(int64_t table) { return *requests_[table]; }
  OwnerPlan& owner(int64_t table) { return *owners_[table]; }

  // Forgets the step before.
  void begin(bool training);
  // Announces ids of a table. Different tables may be served at once by several threads.
  void request(int64_t table, absl::Span<const int64_t> ids);

  // As the functions of EmbeddingCollection.
  void write_ids(int owner, ByteBuffer& frame);
  absl::Status read_rows(int rank, absl::string_view& ids, ByteBuffer& rows);
  absl::Status receive_rows(int owner, absl::string_view& rows);
  void write_sums(int owner, ByteBuffer& frame);
  absl::Status receive_sums(int rank, absl::string_view& sums);

  // Adds up what this rank's rows got, its own share among it; to be called for one table before
  // OwnerPlan::add_up().
  void take_own_sums(int64_t table);
  // Forgets lookups, gradients and sums; ids and records are kept.
  void discard();

 private:
  struct Section;  // what a frame says of one table

  int64_t tables() const { return static_cast<int64_t>(tables_.size()); }
  absl::string_view name(int64_t table) const { return tables_[table].table->name(); }
  PartHeader header(PartKind kind) const;
  // Appends a part whose table t takes bytes[t], and has write(t, to) called for each.
  void write_part(PartKind kind, const std::vector<size_t>& bytes, ByteBuffer& frame,
                  const std::function<void(int64_t table, char* to)>& write);
  // Calls body(t) for each table. Returns: the error of the first table that has one.
  absl::Status for_each(int64_t ids, const std::function<absl::Status(int64_t)>& body);
  absl::Status parse_rows(int owner, absl::string_view& rows, std::vector<Section>& sections);
  absl::Status parse_sums(int rank, absl::string_view& sums, std::vector<Section>& sections);
  // The beginning of a part that was read from `begin`: it, or an aligned copy.
  const char* aligned(const char* begin, const char* end, ByteBuffer& copy) const;
  absl::Status set_remote_sums(int rank, int64_t table, const Section& section);

  const std::vector<Table> tables_;
  const Placement placement_;
  const EachTable each_table_;
  uint64_t fingerprint_ = 0;  // of all tables
  bool training_ = false;
  std::vector<std::unique_ptr<RequestPlan>> requests_;
  std::vector<std::unique_ptr<OwnerPlan>> owners_;
  std::vector<ByteBuffer> row_copies_, sum_copies_;  // of each rank: see aligned()
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_SHARD_STEP_H_
