#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "bench/benchmark.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<Measurement> measure(const BenchmarkFlags& flags) {
  std::vector<Measurement> measured;
  EXPECT_OK(bench_idmap(flags, [&](const Measurement& each) { measured.push_back(each); }));
  return measured;
}

std::vector<std::string> names(const std::vector<Measurement>& measured) {
  std::vector<std::string> result;
  for (const Measurement& each : measured) {
    result.push_back(each.name + " " + each.parameters.at("map"));
  }
  return result;
}

BenchmarkFlags small() {
  BenchmarkFlags flags;
  flags.repeats = 2;
  flags.idmap.rows = 5000;
  return flags;
}

TEST(IdMapBench, MeasuresThreeMapsAndTheirRatios) {
  const std::vector<Measurement> measured = measure(small());
  for (const char* figure :
       {"idmap/insert", "idmap/insert/all_threads", "idmap/insert/reserved", "idmap/find/uniform",
        "idmap/find/zipf", "idmap/find/miss", "idmap/find/uniform/threads2"}) {
    for (const char* map : {" millrace", " ska", " absl"}) {
      EXPECT_THAT(names(measured), Contains(std::string(figure) + map));
    }
    EXPECT_THAT(names(measured), Contains(std::string(figure) + "/ratio millrace/ska"));
    EXPECT_THAT(names(measured), Contains(std::string(figure) + "/ratio millrace/absl"));
  }
  std::map<std::string, double> by_thread;
  for (const Measurement& each : measured) {
    ASSERT_EQ(each.values.size(), 2) << each.name;
    const std::string& map = each.parameters.at("map");
    if (each.name == "idmap/insert") by_thread[map] = each.values[0];
    if (each.name == "idmap/insert/all_threads") {
      EXPECT_LE(each.values[0], by_thread.at(map)) << map;
    }
    EXPECT_EQ(each.parameters.at("rows"), "5000");
    EXPECT_EQ(each.parameters.at("ids"), "random");
    EXPECT_GT(each.values[0], 0) << each.name;
    EXPECT_EQ(each.higher_is_better, each.unit == "ids/s" || each.unit == "ratio") << each.unit;
    if (each.name != "idmap/bytes_per_row") continue;
    EXPECT_GT(each.values[0], 22);
    EXPECT_LT(each.values[0], 48);
  }
}

TEST(IdMapBench, HostileIdsAreMeasuredBesideRandomOnes) {
  BenchmarkFlags flags = small();
  flags.repeats = 1;
  EXPECT_THAT(names(measure(flags)), Not(Contains(HasSubstr("random"))));
  flags.idmap.ids = "strided";
  EXPECT_THAT(names(measure(flags)),
              Contains("idmap/find/uniform/ratio millrace/millrace_with_random_ids"));
}

TEST(IdMapBench, BadFlagsAreRefused) {
  BenchmarkFlags flags = small();
  flags.idmap.ids = "stridden";
  EXPECT_THAT(bench_idmap(flags, [](const Measurement&) {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("strided")));
  flags = small();
  flags.idmap.rows = 0;
  EXPECT_THAT(bench_idmap(flags, [](const Measurement&) {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--rows")));
}

}  // namespace
}  // namespace millrace
