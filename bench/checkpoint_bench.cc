#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/path/path_check.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "bench/benchmark.h"
#include "bench/embedding/embedding_steps.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "checkpoint/saver.h"
#include "checkpoint/state/state_messages.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kPieceBytes = 16 << 20;  // per piece that a thread writes or reads
constexpr int64_t kCallBytes = 1 << 20;    // per system call
constexpr int64_t kSteps = 200;            // number of measured steps
constexpr int64_t kTouchedShare = 100;     // a delta holds one row in kTouchedShare
constexpr int64_t kLateStep = 1 << 30;     // a step after all others

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double percentile(std::vector<double> values, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
  return values[at];
}

// The files of a directory as plain bytes.
class RawFiles {
 public:
  // Reads the sizes of the files in `folder`.
  static absl::StatusOr<RawFiles> like(const std::string& folder) {
    RawFiles raw;
    raw.folder_ = folder;
    ASSIGN_OR_RETURN(const auto entries, FileSystem::local().list(folder));
    for (const DirectoryEntry& entry : entries) {
      ASSIGN_OR_RETURN(const FileInfo info,
                       FileSystem::local().info(join_path(folder, entry.name)));
      raw.files_.push_back({entry.name, info.size_bytes});
      raw.bytes_ += info.size_bytes;
    }
    return raw;
  }

  int64_t bytes() const { return bytes_; }

  // Writes and syncs files of the same sizes in another folder, with incompressible content.
  absl::Status write(const std::string& folder, ThreadPool& threads) const {
    FileSystem& files = FileSystem::local();
    RETURN_IF_ERROR(files.create_directories(folder));
    std::vector<std::unique_ptr<PositionedFile>> open;
    for (const File& file : files_) {
      ASSIGN_OR_RETURN(auto made, files.create_new(join_path(folder, file.name), file.bytes));
      open.push_back(std::move(made));
    }
    // Random bytes, so that no layer below can compress them.
    std::string noise(kCallBytes, '\0');
    for (size_t i = 0; i < noise.size(); i += 8) {
      const uint64_t bits = philox64(1, 2, i);
      noise.replace(i, 8, reinterpret_cast<const char*>(&bits), 8);
    }
    RETURN_IF_ERROR(for_pieces(threads, [&](size_t file, int64_t begin, int64_t count) {
      for (int64_t at = begin; at < begin + count; at += kCallBytes) {
        RETURN_IF_ERROR(open[file]->write_at(
            at, absl::string_view(noise).substr(0, std::min(kCallBytes, begin + count - at))));
      }
      // As the saver does, so that the disk works while other pieces are written.
      open[file]->start_writeback(begin, count);
      return absl::OkStatus();
    }));
    std::vector<absl::Status> statuses(open.size());
    threads.parallel_for(static_cast<int64_t>(open.size()), [&](int64_t i) {
      statuses[i] = open[i]->sync();
      statuses[i].Update(open[i]->close());
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return files.sync_directory(folder);
  }

  // Removes the files from the page cache.
  absl::Status forget() const {
    for (const File& file : files_) {
      const std::string path = join_path(folder_, file.name);
      const int descriptor = open(path.c_str(), O_RDONLY);
      if (descriptor < 0) return absl::UnavailableError(absl::StrCat("opening ", path));
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
      close(descriptor);
    }
    return absl::OkStatus();
  }

  absl::Status read(ThreadPool& threads) const {
    std::vector<std::unique_ptr<ReadableFile>> open;
    for (const File& file : files_) {
      ASSIGN_OR_RETURN(auto opened, FileSystem::local().open(join_path(folder_, file.name)));
      open.push_back(std::move(opened));
    }
    return for_pieces(threads, [&](size_t file, int64_t begin, int64_t count) -> absl::Status {
      thread_local std::vector<char> buffer(kCallBytes);
      for (int64_t at = begin; at < begin + count; at += kCallBytes) {
        RETURN_IF_ERROR(open[file]
                            ->read_at(at, std::min(kCallBytes, begin + count - at), buffer.data())
                            .status());
      }
      return absl::OkStatus();
    });
  }

 private:
  struct File {
    std::string name;
    int64_t bytes;
  };

  template <typename Use>
  absl::Status for_pieces(ThreadPool& threads, const Use& use) const {
    struct Piece {
      size_t file;
      int64_t begin, count;
    };
    std::vector<Piece> pieces;
    for (size_t file = 0; file < files_.size(); ++file) {
      for (int64_t at = 0; at < files_[file].bytes; at += kPieceBytes) {
        pieces.push_back({file, at, std::min(kPieceBytes, files_[file].bytes - at)});
      }
    }
    std::vector<absl::Status> statuses(pieces.size());
    threads.parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
      statuses[i] = use(pieces[i].file, pieces[i].begin, pieces[i].count);
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  std::string folder_;
  std::vector<File> files_;
  int64_t bytes_ = 0;
};

// Checkpoints of full tables.
class CheckpointBench {
 public:
  CheckpointBench(const BenchmarkFlags& flags, EmbeddingWorkload workload,
                  const PrintMeasurement& print)
      : flags_(flags), print_(print), steps_(std::move(workload)), threads_(flags.threads) {}

  absl::Status run() {
    RETURN_IF_ERROR(steps_.prepare(flags_.checkpoint.optimizer, flags_.threads));
    EmbeddingSteps::Seconds seconds = {};
    RETURN_IF_ERROR(steps_.run(EmbeddingSteps::kBatches, seconds));
    RETURN_IF_ERROR(remove_all());
    SaverOptions options;
    options.asynchronous = true;
    options.folder = folder("checkpoints");
    options.write_threads = static_cast<int>(flags_.threads);
    ASSIGN_OR_RETURN(saver_, Saver::create(options, FileSystem::local(), Clock::real()));
    RETURN_IF_ERROR(measure_saving());
    RETURN_IF_ERROR(measure_loading());
    RETURN_IF_ERROR(measure_asynchronous());
    RETURN_IF_ERROR(measure_delta());
    saver_.reset();
    return remove_all();
  }

 private:
  std::string folder(absl::string_view name) const {
    // No run uses this name: the benchmark removes the directory.
    return join_path(flags_.checkpoint.directory, absl::StrCat("bench-", name));
  }
  absl::Status remove_all() const {
    for (const char* name : {"checkpoints", "raw", "delta"}) {
      if (!FileSystem::local().link_info(folder(name)).ok()) continue;
      RETURN_IF_ERROR(remove_recursively(FileSystem::local(), folder(name)));
    }
    return absl::OkStatus();
  }

  TrainState state() {
    TrainState state;
    for (const auto& table : steps_.collection().tables()) state.tables.push_back(table.get());
    Progress progress = steps_.progress();
    progress.step = ++step_;  // each save is of another step
    *state.shared.mutable_progress() = to_state(progress);
    return state;
  }

  Measurement measurement(const std::string& name, const std::string& unit,
                          bool higher_is_better) const {
    const EmbeddingShape& shape = flags_.checkpoint.shape;
    return {absl::StrCat("checkpoint/", name),
            {{"tables", absl::StrCat(shape.tables)},
             {"rows", absl::StrCat(shape.rows)},
             {"dim", absl::StrCat(shape.dim)},
             {"batch", absl::StrCat(shape.batch)},
             {"optimizer", flags_.checkpoint.optimizer},
             {"threads", absl::StrCat(flags_.threads)}},
            unit,
            higher_is_better,
            {}};
  }

  // Prints two rates and the ratio of the first to the second, value by value.
  void print_ratio(Measurement ours, Measurement raw, const std::string& name) const {
    Measurement ratio = measurement(name, "ratio", true);
    for (size_t i = 0; i < ours.values.size(); ++i) {
      ratio.values.push_back(ours.values[i] / raw.values[i]);
    }
    print_(ours);
    print_(raw);
    print_(ratio);
  }

  absl::StatusOr<double> save() {
    if (!path_.empty()) RETURN_IF_ERROR(remove_recursively(FileSystem::local(), path_));
    const TrainState now = state();
    const auto start = SteadyClock::now();
    ASSIGN_OR_RETURN(const CheckpointInfo info, saver_->save(now, {}, ranks_));
    path_ = info.path;
    return seconds_since(start);
  }

  absl::Status measure_saving() {
    RETURN_IF_ERROR(save().status());
    ASSIGN_OR_RETURN(raw_, RawFiles::like(path_));
    const double megabytes = 1e-6 * static_cast<double>(raw_.bytes());
    Measurement ours = measurement("save", "MB/s", true);
    Measurement raw = measurement("raw_write", "MB/s", true);
    for (int64_t i = 0; i < flags_.repeats; ++i) {
      const auto start = SteadyClock::now();
      RETURN_IF_ERROR(raw_.write(folder("raw"), threads_));
      raw.values.push_back(megabytes / seconds_since(start));
      RETURN_IF_ERROR(remove_recursively(FileSystem::local(), folder("raw")));
      ASSIGN_OR_RETURN(const double seconds, save());
      ours.values.push_back(megabytes / seconds);
    }
    Measurement bytes = measurement("bytes", "MB", false);
    bytes.values.push_back(megabytes);
    print_(bytes);
    print_ratio(ours, raw, "save/raw_write");
    return absl::OkStatus();
  }

  absl::Status measure_loading() {
    ASSIGN_OR_RETURN(raw_, RawFiles::like(path_));
    const double megabytes = 1e-6 * static_cast<double>(raw_.bytes());
    Measurement ours = measurement("load", "MB/s", true);
    Measurement raw = measurement("raw_read", "MB/s", true);
    for (int64_t i = 0; i < flags_.repeats; ++i) {
      RETURN_IF_ERROR(raw_.forget());
      auto start = SteadyClock::now();
      RETURN_IF_ERROR(raw_.read(threads_));
      raw.values.push_back(megabytes / seconds_since(start));
      RETURN_IF_ERROR(raw_.forget());
      ASSIGN_OR_RETURN(const double seconds, load());
      ours.values.push_back(megabytes / seconds);
    }
    print_ratio(ours, raw, "load/raw_read");
    return absl::OkStatus();
  }

  // Loads into tables without rows, as a starting job does, after the memory of the previous tables
  // was freed.
  absl::StatusOr<double> load() {
    const auto& tables = steps_.collection().tables();
    const absl::uint128 digest = tables[0]->content().digest();
    for (const auto& table : tables) table->content().reset();
    const TrainState target = state();
    const auto start = SteadyClock::now();
    ASSIGN_OR_RETURN(const auto found, saver_->restore(target, ranks_));
    const double seconds = seconds_since(start);
    if (!found.has_value()) return absl::InternalError("the checkpoint was not found");
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t]->content().swap(found->state.tables[t]->content());
    }
    if (tables[0]->content().digest() == digest) return seconds;
    return absl::InternalError("what was loaded is not what was saved");
  }

  // Measures a delta of one step that touches one row in kTouchedShare, after all other steps.
  absl::Status measure_delta() {
    const int64_t base = kLateStep;
    for (const auto& table : steps_.collection().tables()) {
      const std::vector<RowIndex> all = table->content().rows_in_placement_order();
      std::vector<RowIndex> touched;
      for (size_t i = 0; i < all.size(); i += kTouchedShare) touched.push_back(all[i]);
      table->record_occurrences(base + 1, touched, std::vector<uint32_t>(touched.size(), 1));
      table->commit(base + 1);
    }
    StateWriterOptions options;
    // The writer includes only rows of steps after `base`, which are the rows touched above.
    options.base.emplace().set_step(base);
    ASSIGN_OR_RETURN(StateWriter writer,
                     StateWriter::create(view_state(state()), options, threads_));
    CommitOptions place;
    place.folder = folder("delta");
    place.step = base + 1;
    place.nonce = "00000000";
    ASSIGN_OR_RETURN(auto directory, CommitDirectory::begin(FileSystem::local(), place));
    RETURN_IF_ERROR(writer.write(*directory, threads_));
    ASSIGN_OR_RETURN(const auto files, directory->finish_files(threads_));
    int64_t bytes = 0;
    for (const CommitDirectory::File& file : files) bytes += file.size();
    Measurement ratio = measurement("delta/full", "ratio of bytes", false);
    ratio.values.push_back(static_cast<double>(bytes) / static_cast<double>(raw_.bytes()));
    print_(ratio);
    return directory->discard();
  }

  absl::StatusOr<double> timed_step() {
    EmbeddingSteps::Seconds phases = {};
    const auto start = SteadyClock::now();
    RETURN_IF_ERROR(steps_.run(phases));
    return 1e3 * seconds_since(start);
  }

  absl::Status measure_asynchronous() {
    Measurement stop = measurement("asynchronous/stop", "ms", false);
    Measurement durable = measurement("asynchronous/until_durable", "s", false);
    Measurement without = measurement("asynchronous/step/without", "ms", false);
    Measurement meanwhile = measurement("asynchronous/step/meanwhile", "ms", false);
    Measurement ratio = measurement("asynchronous/step/meanwhile/without", "ratio", false);
    Measurement without_p99 = measurement("asynchronous/step_p99/without", "ms", false);
    Measurement meanwhile_p99 = measurement("asynchronous/step_p99/meanwhile", "ms", false);
    const int64_t count = flags_.steps > 0 ? flags_.steps : kSteps;
    for (int64_t i = 0; i < flags_.repeats; ++i) {
      if (!path_.empty()) RETURN_IF_ERROR(remove_recursively(FileSystem::local(), path_));
      std::vector<double> alone, beside;
      for (int64_t step = 0; step < count; ++step) {
        ASSIGN_OR_RETURN(alone.emplace_back(), timed_step());
      }
      const TrainState now = state();
      const auto start = SteadyClock::now();
      RETURN_IF_ERROR(saver_->begin(now, {}, ranks_));
      stop.values.push_back(1e3 * seconds_since(start));
      for (std::vector<CheckpointInfo> saved; saved.empty();) {
        ASSIGN_OR_RETURN(double milliseconds, timed_step());
        // Polling belongs to the step: the trainer polls after each step.
        const auto polled = SteadyClock::now();
        ASSIGN_OR_RETURN(saved, saver_->poll(saver_->ready(), ranks_));
        milliseconds += 1e3 * seconds_since(polled);
        beside.push_back(milliseconds);
        if (!saved.empty()) path_ = saved[0].path;
      }
      durable.values.push_back(seconds_since(start));
      without.values.push_back(percentile(alone, 0.5));
      meanwhile.values.push_back(percentile(beside, 0.5));
      ratio.values.push_back(meanwhile.values.back() / without.values.back());
      without_p99.values.push_back(percentile(alone, 0.99));
      meanwhile_p99.values.push_back(percentile(beside, 0.99));
    }
    for (const Measurement* each :
         {&stop, &durable, &without, &meanwhile, &ratio, &without_p99, &meanwhile_p99}) {
      print_(*each);
    }
    return absl::OkStatus();
  }

  const BenchmarkFlags& flags_;
  const PrintMeasurement& print_;
  EmbeddingSteps steps_;
  ThreadPool threads_;
  OneRankCollectives ranks_;
  std::unique_ptr<Saver> saver_;
  RawFiles raw_;
  std::string path_;  // of the last checkpoint
  int64_t step_ = 0;
};

}  // namespace

absl::Status bench_checkpoint(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  at::set_num_threads(static_cast<int>(flags.threads));
  if (flags.checkpoint.directory.empty()) {
    return absl::InvalidArgumentError("checkpoints are written: say where, with --directory DIR");
  }
  RETURN_IF_ERROR(check_shell_path(flags.checkpoint.directory), "--directory");
  RETURN_IF_ERROR(check_outside_checkpoints(FileSystem::local(), flags.checkpoint.directory),
                  "--directory");
  ASSIGN_OR_RETURN(EmbeddingWorkload workload, EmbeddingWorkload::create(flags.checkpoint.shape));
  return CheckpointBench(flags, std::move(workload), print).run();
}

}  // namespace millrace
