#include <c10/util/flat_hash_map.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/memory/block_pool.h"
#include "base/memory/huge_memory.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "bench/cpu_time.h"
#include "bench/flag_checks.h"
#include "bench/id_workload.h"
#include "embedding/id_map/id_map.h"

namespace millrace {
namespace {

using Ids = absl::Span<const int64_t>;
using Rows = absl::Span<RowIndex>;

constexpr int64_t kLookups = 1 << 22;  // of a measurement

// Allocates large pieces in huge pages, as the id map does, so that the other maps have the same
// advantage.
template <typename T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <typename U>
  HugePages(const HugePages<U>&) {}
  static constexpr size_t kHugePage = kHugePageBytes;
  static size_t rounded(size_t count) {
    return (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
  }
  T* allocate(size_t count) {
    if (count * sizeof(T) < kHugePage) return static_cast<T*>(::operator new(count * sizeof(T)));
    void* const memory = ::operator new(rounded(count), std::align_val_t(kHugePage));
    use_huge_pages(static_cast<char*>(memory), static_cast<int64_t>(rounded(count)));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kHugePage) return ::operator delete(memory);
    ::operator delete(memory, std::align_val_t(kHugePage));
  }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }
  friend bool operator!=(const HugePages&, const HugePages&) { return false; }
};

class BenchedMap {
 public:
  virtual ~BenchedMap() = default;
  virtual void reserve(int64_t ids) = 0;
  virtual void find_or_insert(Ids ids, Rows rows) = 0;
  virtual void find(Ids ids, Rows rows) const = 0;
};

// The id map with memory from a pool with a background thread, as in a collection.
class OurMap : public BenchedMap {
 public:
  void reserve(int64_t ids) override { map_.reserve(ids); }
  void find_or_insert(Ids ids, Rows rows) override {
    map_.find_or_insert(ids, rows, [this](int64_t) { return next_++; });
  }
  void find(Ids ids, Rows rows) const override { map_.find(ids, rows); }
  IdMap& map() { return map_; }

 private:
  IdMap map_{best_instruction_set(), std::make_shared<BlockPool>(/*background=*/true)};
  RowIndex next_ = 0;
};

// A map that is used with one id at a time.
template <typename Map>
class PeerMap : public BenchedMap {
 public:
  void reserve(int64_t ids) override { map_.reserve(static_cast<size_t>(ids)); }
  void find_or_insert(Ids ids, Rows rows) override {
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto [entry, is_new] = map_.emplace(ids[i], next_);
      next_ += is_new;
      rows[i] = entry->second;
    }
  }
  void find(Ids ids, Rows rows) const override {
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto entry = map_.find(ids[i]);
      rows[i] = entry == map_.end() ? kNoRow : entry->second;
    }
  }

 private:
  Map map_;
  RowIndex next_ = 0;
};

using Ska = ska::flat_hash_map<int64_t, RowIndex, std::hash<int64_t>, std::equal_to<int64_t>,
                               HugePages<std::pair<int64_t, RowIndex>>>;
using Absl = absl::flat_hash_map<int64_t, RowIndex, absl::Hash<int64_t>, std::equal_to<int64_t>,
                                 HugePages<std::pair<const int64_t, RowIndex>>>;

// Ids to insert and to look up.
struct Workload {
  std::vector<int64_t> ids;
  std::vector<int64_t> uniform, zipf, misses;  // lookups
};

absl::StatusOr<Workload> make_workload(const std::string& kind, int64_t rows, double zipf) {
  Workload workload;
  ASSIGN_OR_RETURN(workload.ids, benchmark_ids(kind, 0, rows));
  workload.uniform = draw_ids(workload.ids, 0, kLookups);
  workload.zipf = draw_ids(workload.ids, zipf, kLookups);
  ASSIGN_OR_RETURN(const std::vector<int64_t> others,
                   benchmark_ids(kind, rows, std::min(rows, kLookups)));
  workload.misses = draw_ids(others, 0, kLookups);
  return workload;
}

// A kind of map and its workload.
struct Contender {
  std::string name;
  std::function<std::unique_ptr<BenchedMap>()> make;
  const Workload* workload;
  std::unique_ptr<BenchedMap> map;  // of this repeat
};

// Calls use(first, ids) for batch after batch.
template <typename Use>
void in_batches(Ids ids, int64_t batch, Use use) {
  const auto size = static_cast<size_t>(batch);
  for (size_t begin = 0; begin < ids.size(); begin += size) use(begin, ids.subspan(begin, size));
}

// Ids/s by the CPU time of the thread, and of all threads of the process.
struct Insertion {
  double ids_per_second;
  double ids_per_process_second;
  double longest_call_ms;
};

// Touches memory and frees it. A hypervisor may lend memory at the first touch and reclaim unused
// memory of a guest. The first touch then costs many times the clearing of a page, and the order of
// the maps would decide which map pays.
absl::Status warm_memory(int64_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory of ", bytes, " bytes"));
  }
  use_huge_pages(static_cast<char*>(memory), bytes);
  touch_memory(static_cast<char*>(memory), bytes);
  munmap(memory, bytes);
  return absl::OkStatus();
}

Insertion insert_all(BenchedMap& map, Ids ids, int64_t size) {
  std::vector<RowIndex> rows(size);
  double longest = 0;
  const double process_start = process_cpu_seconds();
  const double start = thread_cpu_seconds();
  double last = start;
  in_batches(ids, size, [&](size_t, Ids batch) {
    map.find_or_insert(batch, absl::MakeSpan(rows).first(batch.size()));
    const double now = thread_cpu_seconds();
    longest = std::max(longest, now - last);
    last = now;
  });
  const double process_seconds = process_cpu_seconds() - process_start;
  const auto count = static_cast<double>(ids.size());
  return {count / (last - start), count / process_seconds, 1e3 * longest};
}

void find_all(const BenchedMap& map, Ids ids, int64_t size) {
  std::vector<RowIndex> rows(size);
  in_batches(ids, size,
             [&](size_t, Ids batch) { map.find(batch, absl::MakeSpan(rows).first(batch.size())); });
}

// Returns ids/s by the CPU time of the thread.
double find_rate(const BenchedMap& map, Ids ids, int64_t size) {
  const double start = thread_cpu_seconds();
  find_all(map, ids, size);
  return static_cast<double>(ids.size()) / (thread_cpu_seconds() - start);
}

// Returns ids/s of all threads by the clock; each thread finds its share.
double find_rate(const BenchedMap& map, Ids ids, int64_t size, int64_t threads) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  const size_t share = ids.size() / static_cast<size_t>(threads);
  for (int64_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { find_all(map, ids.subspan(t * share, share), size); });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(share * running.size()) / elapsed.count();
}

// Returns ids/s of numbering the ids of a step.
double number_rate(IdMap& map, Ids ids, int64_t size) {
  std::vector<uint32_t> places(size);
  std::vector<RowIndex> distinct;
  const double start = thread_cpu_seconds();
  in_batches(ids, size, [&](size_t, Ids batch) {
    distinct.clear();
    map.find_or_insert_distinct(
        batch, [](int64_t) { return kNoRow; }, distinct,
        absl::MakeSpan(places).first(batch.size()));
  });
  return static_cast<double>(ids.size()) / (thread_cpu_seconds() - start);
}

// Checks that maps with the same numbering of rows return the same rows.
absl::Status check_equal(const BenchedMap& a, const BenchedMap& b, Ids ids, int64_t size) {
  absl::Status status;
  std::vector<RowIndex> rows_a(size), rows_b(size);
  in_batches(ids, size, [&](size_t, Ids batch) {
    a.find(batch, absl::MakeSpan(rows_a).first(batch.size()));
    b.find(batch, absl::MakeSpan(rows_b).first(batch.size()));
    if (rows_a != rows_b) status = absl::InternalError("the maps differ in what they find");
  });
  return status;
}

// Returns ids/s of reserving capacity and inserting all ids, without growth.
double reserved_rate(const Contender& contender, int64_t size) {
  const Ids ids = contender.workload->ids;
  const std::unique_ptr<BenchedMap> map = contender.make();
  const double start = thread_cpu_seconds();
  map->reserve(static_cast<int64_t>(ids.size()));
  insert_all(*map, ids, size);
  return static_cast<double>(ids.size()) / (thread_cpu_seconds() - start);
}

// Checks that all maps return the same rows, before the measurement.
absl::Status check_contenders(const std::vector<Contender>& contenders, int64_t size) {
  const std::unique_ptr<BenchedMap> ours = contenders[0].make();
  const Workload& workload = *contenders[0].workload;
  const Ids ids = workload.ids;
  insert_all(*ours, ids, size);
  for (size_t peer = 1; peer < contenders.size(); ++peer) {
    if (contenders[peer].workload != &workload) continue;
    const std::unique_ptr<BenchedMap> theirs = contenders[peer].make();
    insert_all(*theirs, ids, size);
    for (const Ids lookups : {ids, Ids(workload.uniform), Ids(workload.zipf), Ids(workload.misses)})
      RETURN_IF_ERROR(check_equal(*ours, *theirs, lookups, size), contenders[peer].name);
  }
  return absl::OkStatus();
}

// Measurements by name, in the order of their first value.
class Figures {
 public:
  Figures(const BenchmarkFlags& flags)
      : parameters_{{"rows", absl::StrCat(flags.idmap.rows)},
                    {"ids", flags.idmap.ids},
                    {"batch", absl::StrCat(flags.idmap.batch)},
                    {"threads", absl::StrCat(flags.threads)},
                    {"zipf", absl::StrCat(flags.idmap.zipf)}} {}

  void add(const std::string& name, const std::string& map, const std::string& unit, double value) {
    for (Measurement& each : all_) {
      if (each.name == name && each.parameters.at("map") == map)
        return each.values.push_back(value);
    }
    std::map<std::string, std::string> parameters = parameters_;
    parameters["map"] = map;
    const bool higher = unit == "ids/s" || unit == "ratio";
    all_.push_back({name, std::move(parameters), unit, higher, {value}});
  }
  // Adds the ratios of the id map's rates of this repeat to the rates of the other maps.
  void add_ratios() {
    const std::vector<Measurement> measured = all_;
    for (const Measurement& ours : measured) {
      if (ours.unit != "ids/s" || ours.parameters.at("map") != kOurs) continue;
      for (const Measurement& peer : measured) {
        const std::string& map = peer.parameters.at("map");
        if (peer.name != ours.name || peer.unit != ours.unit || map == kOurs) continue;
        add(absl::StrCat(ours.name, "/ratio"), absl::StrCat(kOurs, "/", map), "ratio",
            ours.values.back() / peer.values.back());
      }
    }
  }
  void print(const PrintMeasurement& print) const {
    for (const Measurement& each : all_) print(each);
  }

  static constexpr const char* kOurs = "millrace";

 private:
  std::map<std::string, std::string> parameters_;
  std::vector<Measurement> all_;
};

// Measures all maps once. `first`: the map that begins. Callers vary it, because one map may leave
// costs to the next.
absl::Status measure_contenders(std::vector<Contender>& contenders, const BenchmarkFlags& flags,
                                int64_t first, Figures& figures) {
  const int64_t size = flags.idmap.batch, threads = flags.threads;
  std::vector<Contender*> turns;
  for (size_t i = 0; i < contenders.size(); ++i) {
    turns.push_back(&contenders[(static_cast<size_t>(first) + i) % contenders.size()]);
  }
  for (Contender* const each : turns) {
    // Bytes per row of the largest map while it grows.
    constexpr int64_t kBytesPerRow = 160;
    RETURN_IF_ERROR(warm_memory(static_cast<int64_t>(each->workload->ids.size()) * kBytesPerRow));
    // Comes first, because it frees its memory.
    const double reserved = reserved_rate(*each, size);
    each->map = each->make();
    const Insertion insertion = insert_all(*each->map, each->workload->ids, size);
    figures.add("idmap/insert", each->name, "ids/s", insertion.ids_per_second);
    figures.add("idmap/insert/all_threads", each->name, "ids/s", insertion.ids_per_process_second);
    figures.add("idmap/insert/longest_call", each->name, "ms", insertion.longest_call_ms);
    figures.add("idmap/insert/reserved", each->name, "ids/s", reserved);
  }
  const std::pair<const char*, std::vector<int64_t> Workload::*> lookups[] = {
      {"uniform", &Workload::uniform}, {"zipf", &Workload::zipf}, {"miss", &Workload::misses}};
  for (const auto& [name, ids] : lookups) {
    for (const Contender* const each : turns) {
      figures.add(absl::StrCat("idmap/find/", name), each->name, "ids/s",
                  find_rate(*each->map, each->workload->*ids, size));
    }
    for (const Contender* const each : turns) {
      figures.add(absl::StrCat("idmap/find/", name, "/threads", threads), each->name, "ids/s",
                  find_rate(*each->map, each->workload->*ids, size, threads));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status bench_idmap(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  RETURN_IF_ERROR(check_at_least("rows", flags.idmap.rows, 1));
  RETURN_IF_ERROR(check_zipf(flags.idmap.zipf));
  constexpr int64_t kMostIds = 1 << 30;
  if (flags.idmap.batch < 1 || flags.idmap.batch > kMostIds) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch is ", flags.idmap.batch, "; 1 to 2^30 is due"));
  }
  ASSIGN_OR_RETURN(const Workload workload,
                   make_workload(flags.idmap.ids, flags.idmap.rows, flags.idmap.zipf));
  std::vector<Contender> contenders;
  const auto ours = [] { return std::make_unique<OurMap>(); };
  contenders.push_back({Figures::kOurs, ours, &workload, nullptr});
  contenders.push_back(
      {"ska", [] { return std::make_unique<PeerMap<Ska>>(); }, &workload, nullptr});
  contenders.push_back(
      {"absl", [] { return std::make_unique<PeerMap<Absl>>(); }, &workload, nullptr});
  // The cost of hostile ids is the difference to the same map with random ids.
  Workload random;
  if (flags.idmap.ids != "random") {
    ASSIGN_OR_RETURN(random, make_workload("random", flags.idmap.rows, flags.idmap.zipf));
    contenders.push_back({"millrace_with_random_ids", ours, &random, nullptr});
  }
  RETURN_IF_ERROR(check_contenders(contenders, flags.idmap.batch));
  Figures figures(flags);
  for (int64_t repeat = 0; repeat < flags.repeats; ++repeat) {
    RETURN_IF_ERROR(measure_contenders(contenders, flags, repeat, figures));
    IdMap& map = static_cast<OurMap&>(*contenders[0].map).map();
    figures.add("idmap/number_distinct/zipf", Figures::kOurs, "ids/s",
                number_rate(map, workload.zipf, flags.idmap.batch));
    figures.add("idmap/bytes_per_row", Figures::kOurs, "bytes",
                static_cast<double>(map.bytes()) / static_cast<double>(map.size()));
    figures.add_ratios();
    for (Contender& each : contenders) each.map.reset();
  }
  figures.print(print);
  return absl::OkStatus();
}

}  // namespace millrace
