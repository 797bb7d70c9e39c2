// Tests `millrace bench embedding`, `distributed`, `idmap` and `dense` as programs: flags, lines
// and refusals.
#include <filesystem>
#include <map>

#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class BenchTest : public ProgramTest {
 protected:
  // Returns the lines of a run, and expects equal lines in the file of --output.
  std::vector<nlohmann::json> measure(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--repeats", "2", "--output", "figures.jsonl"});
    const ProgramResult result = millrace_ok(arguments);
    EXPECT_EQ(read("figures.jsonl"), result.out);
    std::vector<nlohmann::json> lines = read_json_lines("figures.jsonl");
    for (const nlohmann::json& line : lines) {
      EXPECT_EQ(line.at("repeats"), 2) << line;
      EXPECT_EQ(line.at("values").size(), 2) << line;
      EXPECT_TRUE(line.at("median").is_number() && line.at("best").is_number()) << line;
    }
    return lines;
  }
  void expect_refused(std::vector<std::string> arguments, int exit_code, const char* message) {
    arguments.insert(arguments.begin(), "bench");
    const ProgramResult result = millrace(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
  }
};

TEST_F(BenchTest, EmbeddingTakesTheShapeFromItsFlags) {
  const std::vector<nlohmann::json> lines =
      measure({"embedding", "--tables=3", "--rows=50", "--dim=6", "--batch=8",
               "--ids_per_feature=2", "--zipf=0.5", "--optimizer=adam", "--threads=1", "--steps=2",
               "--ids=static", "--instruction_set=baseline"});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].at("name"), "embedding");
  EXPECT_EQ(lines[0].at("unit"), "ids/s");
  EXPECT_GT(lines[0].at("median"), 0);
  for (const nlohmann::json& line : lines) {
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"tables", "3"},
                                            {"rows", "50"},
                                            {"dim", "6"},
                                            {"batch", "8"},
                                            {"ids_per_feature", "2"},
                                            {"zipf", "0.5"},
                                            {"optimizer", "adam"},
                                            {"instruction_set", "baseline"},
                                            {"threads", "1"},
                                            {"ids", "static"}}) {
      EXPECT_EQ(line.at(name), value) << line;
    }
  }
}

TEST_F(BenchTest, DistributedStartsItsRanks) {
  const std::vector<nlohmann::json> lines =
      measure({"distributed", "--ranks=3", "--threads=3", "--tables=2", "--rows=50", "--dim=6",
               "--batch=6,12", "--optimizer=sgd,adam", "--ids_per_feature=2", "--zipf=0.5",
               "--steps=2", "--ids=static", "--instruction_set=baseline"});
  std::vector<std::string> settings;
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("ranks"), "3");
    EXPECT_EQ(line.at("threads"), "3");
    EXPECT_EQ(line.at("tables"), "2");
    EXPECT_EQ(line.at("rows"), "50");
    EXPECT_EQ(line.at("dim"), "6");
    EXPECT_EQ(line.at("ids_per_feature"), "2");
    EXPECT_EQ(line.at("zipf"), "0.5");
    EXPECT_EQ(line.at("ids"), "static");
    EXPECT_EQ(line.at("instruction_set"), "baseline");
    if (line.at("name") != "distributed") continue;
    EXPECT_EQ(line.at("unit"), "ids/s");
    EXPECT_GT(line.at("median"), 0);
    settings.push_back(line.at("optimizer").get<std::string>() + " " +
                       line.at("batch").get<std::string>());
  }
  EXPECT_THAT(settings, testing::ElementsAre("sgd 6", "sgd 12", "adam 6", "adam 12"));
}

TEST_F(BenchTest, WrongFlagsOfDistributedAreRefused) {
  const auto refused = [this](std::vector<std::string> flags, const char* message) {
    flags.insert(flags.begin(), "distributed");
    expect_refused(flags, kUsage, message);
  };
  refused({"--ranks=1"}, "--ranks is 1; at least 2 is due");
  refused({"--ranks=100"}, "--ranks is 100; at most 64 are due");
  refused({"--ranks=4"}, "--threads is 2; it must be a multiple of --ranks, 4");
  refused({"--batch=2048,99"}, "--batch is 99; it must be a multiple of --ranks, 2");
  refused({"--batch=2048,many"}, "--batch");
  refused({"--optimizer=sgd,adm"}, "no optimizer \"adm\"");
  refused({"--tables=0", "--batch=8"}, "--tables is 0; at least 1 is due");
  refused({"--rows=1000000000"}, "this machine has");
  refused({"--check", "--batch=8", "--optimizer=sgd"}, "--data DIR");
  refused({"--data=."}, "one --batch, --optimizer and --table_channel");
}

TEST_F(BenchTest, IdMapTakesRowsAndKinds) {
  const std::vector<nlohmann::json> lines =
      measure({"idmap", "--rows=3000", "--ids=strided", "--batch=100", "--zipf=0.9"});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].at("name"), "idmap/insert");
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("rows"), "3000");
    EXPECT_EQ(line.at("ids"), "strided");
    EXPECT_EQ(line.at("batch"), "100");
    EXPECT_EQ(line.at("zipf"), "0.9");
  }
}

TEST_F(BenchTest, DenseTrainsOnTheFirstBatchesOfAJob) {
  write("data.csv", "label,d,a\n1,0.5,3\n0,0.25,4\n1,1,3\n0,2,5\n");
  write("job.textproto", R"(
      train {
        train_data { path: "data.csv" }
        feature { name: "label" kind: LABEL }
        feature { name: "d" kind: DENSE }
        feature { name: "a" }
        table { name: "a" dim: 4 }
        model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
      })");
  const std::vector<nlohmann::json> lines =
      measure({"dense", "--config=job.textproto", "--set", "train.seed=3", "--batch=2",
               "--compute=bfloat16", "--threads=1", "--steps=2"});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].at("name"), "dense/examples_per_second");
  EXPECT_GT(lines[0].at("median"), 0);
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("config"), "job.textproto");
    EXPECT_EQ(line.at("batch"), "2");
    EXPECT_EQ(line.at("compute"), "bfloat16");
    EXPECT_EQ(line.at("threads"), "1");
  }
  EXPECT_FALSE(std::filesystem::exists(path("out"))) << "it writes nothing";
  expect_refused({"dense", "--config=job.textproto", "--batch=5"}, kUsage,
                 "the data has 4 examples; a batch needs 5");
  expect_refused({"dense", "--config=job.textproto", "--compute=float"}, kUsage, "--compute");
  expect_refused({"dense"}, kUsage, "--config");
}

TEST_F(BenchTest, WrongFlagsAreRefusedBeforeAnythingIsMeasured) {
  expect_refused({"embedding", "--tables=0"}, kUsage, "--tables is 0; at least 1 is due");
  expect_refused({"embedding", "--dim=-1"}, kUsage, "--dim is -1; at least 1 is due");
  expect_refused({"embedding", "--tables=1000000000"}, kUsage, "this machine has");
  expect_refused({"embedding", "--batch=1000000000000"}, kUsage, "this machine has");
  expect_refused({"embedding", "--zipf=nan"}, kUsage, "--zipf is nan");
  expect_refused({"embedding", "--ids=hashd"}, kUsage, "--ids is \"hashd\"");
  expect_refused({"embedding", "--optimizer=adm"}, kUsage, "--optimizer: no optimizer \"adm\"");
  expect_refused({"embedding", "--instruction_set=sse"}, kUsage,
                 "--instruction_set: \"sse\" is none");
  expect_refused({"embedding", "--rows=many"}, kUsage, "--rows = many");
  for (const char* benchmark : {"embedding", "idmap"}) {
    expect_refused({benchmark, "--rows=0"}, kUsage, "--rows is 0; at least 1 is due");
    expect_refused({benchmark, "--repeats=0"}, kUsage, "--repeats is 0; at least 1 is due");
    expect_refused({benchmark, "--threads=0"}, kUsage, "--threads is 0; at least 1 is due");
    expect_refused({benchmark, "--threads=5000"}, kUsage, "--threads is 5000; at most 1024");
    expect_refused({benchmark, "--output=no/figures"}, kCannotWrite, "--output: cannot write no/");
    expect_refused({benchmark, "--output=/dev/null"}, kCannotWrite, "no regular file");
  }
  expect_refused({"embedding", "--steps=-1"}, kUsage, "--steps is -1; at least 0 is due");
  expect_refused({"idmap", "--steps=1"}, kUsage, "--steps");
  expect_refused({"embedding", "--config=job"}, kUsage, "--config");
  expect_refused({"idmap", "--ids=randm"}, kUsage, "millrace: --ids is \"randm\"");
  expect_refused({"idmap", "--batch=0"}, kUsage, "--batch is 0");
  expect_refused({"idmap", "--zipf=-1"}, kUsage, "--zipf is -1");
  expect_refused({"idmap", "--rows=9999999999"}, kUsage, "--rows: ids 0 to 9999999999");
}

}  // namespace
}  // namespace millrace
