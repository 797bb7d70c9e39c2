#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "bench/benchmark.h"
#include "bench/flag_checks.h"
#include "job/instruction_set_flag.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"

namespace millrace {
namespace {

struct Entry;

struct BenchFlags : BenchmarkFlags {
  std::string instruction_set = "auto";
  std::string output;
  bool overwrite = false;
  const Entry* chosen = nullptr;
};

struct Entry {
  const char* name;
  const char* description;
  absl::Status (*run)(const BenchmarkFlags&, const PrintMeasurement&);
  void (*add_flags)(CLI::App&, BenchFlags&);  // flags of this benchmark only
};

void add_steps_flag(CLI::App& bench, BenchFlags& flags) {
  bench.add_option("--steps", flags.steps, "steps of a measurement; 0: what suits");
}

void add_job_flags(CLI::App& bench, BenchFlags& flags) {
  bench.add_option("--config", flags.config,
                   "the job to run (dense, start, train) or whose data to read (ingest)");
  bench.add_option("--set", flags.set, "changes to it, as for train")->allow_extra_args(false);
}

void add_shape_flags(CLI::App& bench, EmbeddingShape& shape) {
  bench.add_option("--tables", shape.tables, "tables, each read by one feature");
  bench.add_option("--rows", shape.rows, "rows of each table, all there before the first step");
  bench.add_option("--dim", shape.dim, "columns of a row");
}

void add_table_flags(CLI::App& bench, EmbeddingShape& shape, std::string& optimizer) {
  add_shape_flags(bench, shape);
  bench.add_option("--batch", shape.batch, "examples of a step");
  bench.add_option("--optimizer", optimizer, "as in train.sparse_optimizer");
}

void add_lookup_flags(CLI::App& bench, EmbeddingShape& shape, BenchFlags& flags) {
  bench.add_option("--ids_per_feature", shape.ids_per_feature, "ids of each feature and example");
  bench.add_option("--zipf", shape.zipf, "exponent of Zipf's law; 0: all rows alike");
  bench.add_option("--ids", shape.ids, "what ids are: hashed (64 bits) or static (row numbers)");
  bench.add_option("--instruction_set", flags.instruction_set,
                   "vector instructions: auto, baseline, avx2 or avx512");
}

void add_data_flags(CLI::App& bench, std::string& data, bool& check) {
  bench.add_option("--data", data, "directory for the batches and their gradient");
  bench.add_flag("--check", check,
                 "write rows before and after --steps [20] steps into --data, measure nothing");
}

void add_embedding_flags(CLI::App& bench, BenchFlags& flags) {
  EmbeddingFlags& embedding = flags.embedding;
  add_table_flags(bench, embedding.shape, embedding.optimizer);
  add_steps_flag(bench, flags);
  add_lookup_flags(bench, embedding.shape, flags);
  add_data_flags(bench, embedding.data, embedding.check);
}

void add_distributed_flags(CLI::App& bench, BenchFlags& flags) {
  DistributedFlags& distributed = flags.distributed;
  add_shape_flags(bench, distributed.shape);
  bench.add_option("--ranks", distributed.ranks, "processes, which share --threads");
  bench.add_option("--batch", distributed.batches, "examples of a step of all ranks together: A,B")
      ->delimiter(',');
  bench.add_option("--optimizer", distributed.optimizers, "as in train.sparse_optimizer: A,B")
      ->delimiter(',');
  bench
      .add_option("--table_channel", distributed.table_channels,
                  "as run.distributed.table_channel: TCP,C10D")
      ->delimiter(',');
  add_steps_flag(bench, flags);
  add_lookup_flags(bench, distributed.shape, flags);
  add_data_flags(bench, distributed.data, distributed.check);
}

void add_idmap_flags(CLI::App& bench, BenchFlags& flags) {
  bench.add_option("--rows", flags.idmap.rows, "ids in the map");
  bench.add_option("--ids", flags.idmap.ids,
                   "what ids look like: random, strided, low_bits_equal, high_bits_equal or "
                   "adversarial");
  bench.add_option("--batch", flags.idmap.batch, "ids of a call");
  bench.add_option("--zipf", flags.idmap.zipf, "exponent of Zipf's law, of lookups by it");
}

void add_dense_flags(CLI::App& bench, BenchFlags& flags) {
  add_job_flags(bench, flags);
  add_steps_flag(bench, flags);
  bench.add_option("--batch", flags.dense.batch, "examples of a step; 0: as configured");
  bench.add_option(
      "--compute", flags.dense.compute,
      "precision of the dense part: float32, bfloat16 or float16; \"\": as configured");
}

void add_train_flags(CLI::App& bench, BenchFlags& flags) {
  add_job_flags(bench, flags);
  bench.add_option("--ranks", flags.train.ranks,
                   "measure the job over so many processes, which share --threads; 0: beside a "
                   "busy process");
}

void add_checkpoint_flags(CLI::App& bench, BenchFlags& flags) {
  CheckpointFlags& checkpoint = flags.checkpoint;
  add_table_flags(bench, checkpoint.shape, checkpoint.optimizer);
  bench.add_option("--directory", checkpoint.directory,
                   "where checkpoints are written and removed");
}

constexpr Entry kBenchmarks[] = {
    {"checkpoint", "saving, loading and asynchronous saving, beside raw writes and reads",
     bench_checkpoint, add_checkpoint_flags},
    {"dense", "examples/s of a job's steps from memory, beside their matrix products alone",
     bench_dense, add_dense_flags},
    {"distributed", "ids/s of steps of embedding tables over processes, beside one process",
     bench_distributed, add_distributed_flags},
    {"embedding", "ids/s of whole steps of embedding tables", bench_embedding, add_embedding_flags},
    {"exchange", "what the step exchange of several ranks adds, hidden and synchronous",
     bench_exchange, add_steps_flag},
    {"idmap", "ids/s of the map from ids to rows, beside other maps", bench_idmap, add_idmap_flags},
    {"ingest", "rows/s of a job's training data made into batches", bench_ingest, add_job_flags},
    {"loop", "what the trainer with five idle hooks adds to a bare loop", bench_loop,
     add_steps_flag},
    {"start", "process start to the end of a run of one step", bench_start, add_job_flags},
    {"train", "examples/s of a job, alone and beside a busy process", bench_train, add_train_flags},
};

absl::Status check_bench_flags(const BenchFlags& flags) {
  RETURN_IF_ERROR(check_at_least("repeats", flags.repeats, 1));
  RETURN_IF_ERROR(check_at_least("threads", flags.threads, 1));
  RETURN_IF_ERROR(check_at_least("steps", flags.steps, 0));
  if (flags.threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads is ", flags.threads, "; at most ", kMostThreads, " are due"));
  }
  // Checked before minutes of measurements.
  if (flags.output.empty()) return absl::OkStatus();
  std::vector<RunInput> inputs;
  if (!flags.config.empty()) inputs.push_back({"the configuration", flags.config});
  return annotate(
      check_output(FileSystem::local(), flags.output, measurements_kind(), inputs, flags.overwrite),
      "--output");
}

absl::StatusOr<int> run_bench(BenchFlags flags) {
  RETURN_IF_ERROR(check_bench_flags(flags));
  ASSIGN_OR_RETURN(const RunConfig::InstructionSet choice,
                   parse_instruction_set(flags.instruction_set), "--instruction_set");
  flags.embedding.overwrite = flags.distributed.overwrite = flags.overwrite;
  ASSIGN_OR_RETURN(const InstructionSet set, chosen_instruction_set(choice));
  flags.embedding.instruction_set = flags.distributed.instruction_set = set;
  std::string lines;
  RETURN_IF_ERROR(flags.chosen->run(flags, [&](const Measurement& measurement) {
    const std::string line = to_json_line(measurement);
    std::cout << line << std::flush;
    lines += line;
  }));
  if (!flags.output.empty()) {
    RETURN_IF_ERROR(write_file_atomically(FileSystem::local(), flags.output, lines), "--output");
  }
  return kExitFinished;
}

}  // namespace

Command add_bench_command(CLI::App& program) {
  auto flags = std::make_shared<BenchFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand("bench", "measure something; one JSON line each");
  command->require_subcommand(1);
  for (const Entry& entry : kBenchmarks) {
    CLI::App* bench = command->add_subcommand(entry.name, entry.description);
    bench->option_defaults()->always_capture_default();
    bench->add_option("--repeats", flags->repeats, "measurements of each figure");
    bench->add_option("--threads", flags->threads, "threads of a step");
    bench->add_option("--output", flags->output, "file for the lines too");
    bench->add_flag("--overwrite", flags->overwrite,
                    "let outputs replace files that hold something else");
    entry.add_flags(*bench, *flags);
    bench->callback([flags, &entry] { flags->chosen = &entry; });
  }
  return [flags] { return run_bench(*flags); };
}

}  // namespace millrace
