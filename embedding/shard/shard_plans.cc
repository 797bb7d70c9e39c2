#include "embedding/shard/shard_plans.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"

namespace millrace {

void ShardPlans::shard(const Placement& placement) {
  placement_ = placement;
  requests_.clear();
  owners_.clear();
  std::string all;
  for (const Table& table : tables_) {
    requests_.push_back(std::make_unique<RequestPlan>(*table.table, placement));
    owners_.push_back(std::make_unique<OwnerPlan>(*table.table, placement));
    absl::StrAppend(&all, table.table->name(), "\n", table.table->dim(), " ",
                    static_cast<int>(table.table->layout().type), " ", table.frozen, "\n");
  }
  fingerprint_ = xxh3(all, placement.world_size);
}

void ShardPlans::hold_rows(bool held) {
  if (!sharded()) return;
  for (const Table& table : tables_) table.table->set_rows_held(held);
}

void ShardPlans::begin(bool training) {
  training_ = training;
  if (!sharded()) {
    if (training) announced_.begin(tables());
    return;
  }
  for (int64_t t = 0; t < tables(); ++t) {
    requests_[t]->begin();
    owners_[t]->begin(training && !tables_[t].frozen);
  }
  hold_rows(training);
}

void ShardPlans::discard() {
  for (const auto& requests : requests_) requests->discard();
  for (const auto& owner : owners_) owner->discard();
  announced_.end();
  totals_.reset();
  hold_rows(false);
}

void ShardPlans::end() {
  begin(/*training=*/false);
  announced_.end();
  totals_.reset();
}

void ShardPlans::request(int64_t table, absl::Span<const int64_t> ids) {
  if (!sharded()) {
    announced_.add(table, ids);
    return;
  }
  RequestPlan& requests = *requests_[table];
  OwnerPlan& owner = *owners_[table];
  const int self = placement_->rank;
  const size_t known = owner.ids(self);
  requests.request(ids);
  // The ids of this rank that no earlier request had.
  const absl::Span<const uint32_t> places = requests.places_of(self).subspan(known);
  std::vector<int64_t> own;
  own.reserve(places.size());
  for (const uint32_t place : places) own.push_back(requests.ids()[place]);
  const absl::Status found = owner.find(self, own);
  MILLRACE_CHECK(found.ok()) << found;
  std::vector<const char*> records(places.size());
  owner.find_records(self, known, absl::MakeSpan(records));
  for (size_t i = 0; i < places.size(); ++i) {
    if (records[i] != nullptr) {
      requests.set_record(places[i], records[i]);
    } else {
      requests.set_no_record(places[i]);
    }
  }
}

void ShardPlans::take_own_sums(int64_t table) {
  RequestPlan& requests = *requests_[table];
  requests.lookups().add_up();
  const absl::Span<const uint32_t> places = requests.places_of(placement_->rank);
  std::vector<uint32_t> counts;
  std::vector<const float*> gradients;
  counts.reserve(places.size());
  gradients.reserve(places.size());
  for (const uint32_t place : places) {
    counts.push_back(requests.count(place));
    gradients.push_back(requests.sum(place));
  }
  owners_[table]->set_sums(placement_->rank, std::move(counts), std::move(gradients));
}

}  // namespace millrace
