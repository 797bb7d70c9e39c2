#include "bench/ranks/serving_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;
using Request = absl::Span<const int64_t>;

std::unique_ptr<ServingProcess> start(const ServingProcess::Make& make) {
  absl::StatusOr<std::unique_ptr<ServingProcess>> process = ServingProcess::start(make);
  EXPECT_OK(process);
  return *std::move(process);
}

TEST(ServingProcessTest, AnswersInAnotherProcess) {
  const auto process = start([] {
    double sum = 0;
    return [sum](Request request) mutable -> absl::StatusOr<Numbers> {
      for (const int64_t number : request) sum += static_cast<double>(number);
      return Numbers{sum, static_cast<double>(getpid())};
    };
  });
  ASSERT_OK(process->ask({1, 2}));
  ASSERT_OK_AND_ASSIGN(const Numbers first, process->answer());
  ASSERT_OK(process->ask({39}));
  ASSERT_OK_AND_ASSIGN(const Numbers second, process->answer());
  EXPECT_EQ(first[0], 3);
  EXPECT_EQ(second[0], 42) << "the state of the child is kept";
  EXPECT_NE(first[1], getpid());
}

TEST(ServingProcessTest, SeveralAreAskedAtOnce) {
  int links[2];
  ASSERT_EQ(pipe(links), 0);
  // Each can answer only after the other was asked.
  const auto reader = start([&] {
    return [&](Request) -> absl::StatusOr<Numbers> {
      char byte = 0;
      return Numbers{static_cast<double>(read(links[0], &byte, 1))};
    };
  });
  const auto writer = start([&] {
    return [&](Request) -> absl::StatusOr<Numbers> {
      return Numbers{static_cast<double>(write(links[1], "x", 1))};
    };
  });
  ASSERT_OK(reader->ask({0}));
  ASSERT_OK(writer->ask({0}));
  EXPECT_THAT(reader->answer(), IsOkAndHolds(ElementsAre(1)));
  EXPECT_THAT(writer->answer(), IsOkAndHolds(ElementsAre(1)));
  close(links[0]);
  close(links[1]);
}

TEST(ServingProcessTest, ErrorsOfTheChildAreAnswers) {
  const auto unmade = start([]() -> absl::StatusOr<ServingProcess::Serve> {
    return absl::NotFoundError("no such table");
  });
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(unmade->ask({1}));
    EXPECT_THAT(unmade->answer(), StatusIs(absl::StatusCode::kNotFound, "no such table"));
  }
  const auto failing = start([] {
    return [](Request request) -> absl::StatusOr<Numbers> {
      if (request[0] == 1) throw std::runtime_error("a bad number");
      return Numbers{};
    };
  });
  ASSERT_OK(failing->ask({0}));
  EXPECT_THAT(failing->answer(), IsOkAndHolds(ElementsAre()));
  ASSERT_OK(failing->ask({1}));
  EXPECT_THAT(failing->answer().status().message(), HasSubstr("a bad number"));
  ASSERT_OK(failing->ask({0}));
  EXPECT_THAT(failing->answer().status().message(), HasSubstr("a bad number"));
}

TEST(ServingProcessTest, ADeadChildIsAnError) {
  const auto process = start([] {
    return [](Request) -> absl::StatusOr<Numbers> {
      raise(SIGKILL);
      return Numbers{};
    };
  });
  ASSERT_OK(process->ask({1}));
  EXPECT_THAT(process->answer(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ended by signal 9")));
}

// Destructors of what was made run in the child when the parent lets it end.
TEST(ServingProcessTest, FinishEndsTheChildInOrder) {
  int links[2];
  ASSERT_EQ(pipe(links), 0);
  auto process = start([&] {
    const std::shared_ptr<int> owned(new int(links[1]), [](int* link) {
      if (write(*link, "d", 1) != 1) _exit(1);
      delete link;
    });
    return [owned](Request) -> absl::StatusOr<Numbers> { return Numbers{}; };
  });
  close(links[1]);
  ASSERT_OK(process->ask({1}));
  ASSERT_OK(process->answer());
  process->finish();
  char byte = 0;
  EXPECT_EQ(read(links[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'd');
  process.reset();
  EXPECT_EQ(read(links[0], &byte, 1), 0) << "the child has ended";
  close(links[0]);
}

}  // namespace
}  // namespace millrace
