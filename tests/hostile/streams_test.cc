// Directories of windows with errors.
#include <gtest/gtest.h>

#include "tests/hostile/hostile_test.h"

namespace millrace {
namespace {

// Name, promise, files of a user, command, exit code, last line, and permitted changes.
const HostileCase kCases[] = {
    {"NoDirectory", "a directory that is missing", "", "millrace train stream.textproto", 66,
     "millrace: *incoming*"},
    {"DirectoryIsAFile", "a file for a directory", "echo a > incoming",
     "millrace train stream.textproto", 64, "millrace: *incoming*"},
    {"DirectoryMayNotBeRead", "a directory that may not be read",
     "mkdir incoming; touch incoming/_END; chmod 000 incoming", "millrace train stream.textproto",
     74, "millrace: *incoming*"},
    {"EndOfNothing", "a stream that ends before it begins trains nothing and says so",
     "mkdir incoming; touch incoming/_END", "millrace train stream.textproto", 0, "*"},
    {"FileThatIsBroken", "with the file",
     "mkdir incoming; touch incoming/_END; echo nonsense > incoming/a.csv",
     "millrace train stream.textproto", 64, "millrace: *incoming/a.csv*"},
    {"FileThatIsEmpty", "with the file",
     "mkdir incoming; touch incoming/_END; touch incoming/a.csv", "millrace train stream.textproto",
     65, "millrace: *incoming/a.csv*"},
    {"FolderInTheStream", "directories in a stream are no data",
     "mkdir incoming; touch incoming/_END; mkdir incoming/a", "millrace train stream.textproto", 0,
     "*"},
    {"FifoInTheStream", "a FIFO is named, not waited for",
     "mkdir incoming; touch incoming/_END; mkfifo incoming/a.csv",
     "millrace train stream.textproto", 64,
     "millrace: *incoming/a.csv: it is a pipe or a device*write it to a file*"},
    {"BadFileAfterAGoodOne",
     "what was trained before is saved",
     "mkdir incoming; touch incoming/_END; cp train.csv incoming/a.csv; echo nonsense > "
     "incoming/b.csv",
     "millrace train stream.textproto",
     64,
     "millrace: *incoming/b.csv*",
     {"out", "out/*"}},
    {"DamagedFileMoved",
     "a damaged file is put aside",
     "mkdir incoming; touch incoming/_END; mkdir bad; echo nonsense > incoming/a.csv; cp "
     "train.csv incoming/b.csv",
     "millrace train stream.textproto --set train.train_data.bad_data=SKIP --set "
     "run.window_io.move_damaged_to=bad",
     0,
     "*",
     {"out", "out/*", "incoming/a.csv", "bad/a.csv"}},
    {"DoneFilesMovedToAFile", "a file for a directory",
     "mkdir incoming; touch incoming/_END; echo mine > done; cp train.csv incoming/a.csv",
     "millrace train stream.textproto --set run.window_io.move_done_to=done", 73,
     "millrace: *run.window_io.move_done_to*done*"},
    {"PatternOfOtherFiles",
     "files of another pattern are left alone",
     "mkdir incoming; touch incoming/_END; echo mine > incoming/notes.txt; cp train.csv "
     "incoming/a.csv",
     R"(millrace train stream.textproto --set 'train.train_data.windows={directory {path: )"
     R"("incoming" pattern: "*.csv"}}')",
     0,
     "*",
     {"out", "out/*"}},
    {"TimeTurnedAround", "steps that give one path", "",
     R"(millrace train stream.textproto --set 'train.train_data.windows={time {path: "in/%Y" )"
     R"(start: "2026-02-01T00:00:00Z" end: "2026-01-01T00:00:00Z"}}')",
     64, "millrace: *time*"},
    {"TimeInWords", "a time in its form", "",
     R"(millrace train stream.textproto --set 'train.train_data.windows={time {path: "in/%Y" )"
     R"(start: "yesterday"}}')",
     64, "millrace: *start*yesterday*"},
    {"ListAndPatternOfNothing", "a pattern without files", "",
     R"(millrace train stream.textproto --set 'train.train_data={path: "none/*.csv" windows )"
     R"({list {}}}')",
     66, "millrace: *none/*.csv*"},
    {"EvaluationWindowsWithoutPartner", "windows need windows to be paired with", "",
     R"(millrace train stream.textproto --set 'train.train_data={path: "train.csv"}' --set )"
     R"('train.eval_data=[{data {windows {directory {path: "incoming"}}}}]')",
     64, "millrace: *windows*paired*"},
    {"StreamsRepeatedNever", "a window is trained on", "mkdir incoming; touch incoming/_END",
     "millrace train stream.textproto --set train.train_data.windows.repeat=0", 64,
     "millrace: *repeat is 0*"},
};

INSTANTIATE_TEST_SUITE_P(Streams, HostileTest, testing::ValuesIn(kCases), name_of_case);

}  // namespace
}  // namespace millrace
