// The open mode files=@TABLE: a table assigns each task to a physical file.
#include "multifile/create/file_table.hpp"

#include <gtest/gtest.h>

#include "storage/testing.hpp"
#include "support/programs.hpp"

namespace sheaf::test::file_table_test {

using namespace multifile;

namespace {

TEST(FileTable, NumbersCommentsAndBlanks) {
  EXPECT_EQ(parse_file_table("2 0\t0\n# all of rack 2\n1#one\n\n2\r\n", "t", 5),
            (std::vector<int32_t>{2, 0, 0, 1, 2}));
  EXPECT_EQ(parse_file_table("0", "t", 1), std::vector<int32_t>{0});
}

std::string refusal(const std::string& text, int64_t ntasks) {
  const Error error = testing::error_of([&] { parse_file_table(text, "places", ntasks); });
  EXPECT_EQ(error.code(), Code::invalid_argument) << text;
  EXPECT_NE(std::string(error.what()).find("'places'"), std::string::npos) << error.what();
  return error.what();
}

TEST(FileTable, RefusesWhatPlacesNoTask) {
  EXPECT_NE(refusal("0 0\n1 x", 4).find("line 2"), std::string::npos);
  EXPECT_NE(refusal("0 -1", 2).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("0 1.5", 2).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("0 99999999999", 2).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("0 2147483647", 2).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("0 1 1", 4).find("places 3 tasks, but 4"), std::string::npos);
  EXPECT_NE(refusal("0 1 1 0 0", 4).find("places 5 tasks, but 4"), std::string::npos);
  EXPECT_NE(refusal("0 2 2", 3).find("no task is in file 1 of the 3"), std::string::npos);
  EXPECT_NE(refusal("0 1 2147483646", 3).find("no task is in file 2"), std::string::npos);
  refusal("", 1);
}

void write_by_table(Store& store, Comm& comm, const std::string& mode) {
  ParallelWriteRequest request;
  request.path = "m";
  request.nfiles = 3;
  request.chunk_size = 10;
  request.fsblksize = 64;
  Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, mode));
  const auto own = static_cast<std::byte>(writer.task());
  writer.stream().write(std::span(&own, 1));
  writer.close();
}

TEST(FileTable, PlacesTheTasksOfAMultifile) {
  for (const char* table : {"1 0 1 2 0 1 0", "0 0 0 0 0 0 0", "6 5 4 3 2 1 0"}) {
    MemoryStore store;
    store.set_contents("dir/table", testing::bytes(table));
    run_fibers(fibers(7), [&](Comm& comm) { write_by_table(store, comm, "w, files=@dir/table"); });
    const auto numbers = parse_file_table(table, "t", 7);
    Reader reader(store, "m", parse_open_mode("r"));
    EXPECT_EQ(reader.facts().nfiles, *std::ranges::max_element(numbers) + 1);
    for (int t = 0; t < 7; ++t) {
      reader.select(t);
      std::byte found{};
      EXPECT_EQ(reader.stream().read(std::span(&found, 1)), 1u);
      EXPECT_EQ(found, static_cast<std::byte>(t));
      EXPECT_EQ(reader.stream().blocks().file().path(),
                format::physical_name("m", numbers[static_cast<size_t>(t)]));
    }
  }
}

TEST(FileTable, ABadOneFailsOnAllTasksAndLeavesNothing) {
  for (const char* table : {"0 0 0", "0 0 2 2 0", "zero", ""}) {
    MemoryStore store;
    if (*table) store.set_contents("table", testing::bytes(table));
    std::vector<Code> codes(5);
    run_fibers(fibers(5), [&](Comm& comm) {
      codes[static_cast<size_t>(comm.rank())] =
          code_of([&] { write_by_table(store, comm, "w,files=@table"); });
    });
    EXPECT_EQ(codes, std::vector<Code>(5, *table ? Code::invalid_argument : Code::not_found)) << table;
    EXPECT_EQ(store.paths().size(), *table ? 1u : 0u);
  }
}

}  // namespace
}  // namespace sheaf::test::file_table_test
