// Tests serial programs that write several physical files.
#include "api/keyval_fixture.hpp"
#include "support/programs.hpp"

namespace sheaf::test::serial_files_test {
namespace {

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SerialFiles : public Keyval {
 protected:
  // Opens `file` for writing with the global ranks first_rank, first_rank + 1, ... The call stores the number
  // of files in `nfiles`.
  static int create(const std::string& file, std::vector<long long> chunks, int& nfiles, int fsblksize,
                    const char* mode, int first_rank = 100, FILE** stream = nullptr) {
    int ntasks = static_cast<int>(chunks.size());
    std::vector<int> ranks(chunks.size() + 1);
    std::iota(ranks.begin(), ranks.end(), first_rank);
    chunks.push_back(0);
    long long* sizes = chunks.data();
    int* globalranks = ranks.data();
    return sion_open(const_cast<char*>(file.c_str()), mode, &ntasks, &nfiles, &sizes, &fsblksize,
                     &globalranks, stream);
  }
  // Writes the bytes [from, from + bytes) of a task's content.
  static void put_content(int sid, int task, int64_t from, int64_t bytes) {
    EXPECT_EQ(select(sid, task), 1) << sheaf_last_error();
    EXPECT_EQ(sion_fwrite(content(task, from, bytes).data(), 1, static_cast<size_t>(bytes), sid),
              static_cast<size_t>(bytes))
        << sheaf_last_error();
  }
  static void expect_content(int sid, int task, int64_t bytes) {
    std::vector<std::byte> found(static_cast<size_t>(bytes) + 1);
    EXPECT_EQ(sion_fread(found.data(), 1, found.size(), sid), static_cast<size_t>(bytes));
    found.pop_back();
    EXPECT_EQ(found, content(task, 0, bytes)) << "task " << task;
  }
  static void expect_tasks(const std::string& file, int ntasks, int nfiles, int64_t bytes) {
    const int sid = open(file);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(sion_get_number_of_files(sid), nfiles);
    for (int t = ntasks - 1; t >= 0; --t) {
      EXPECT_EQ(sion_seek(sid, t, 0, 0), 1);
      expect_content(sid, t, bytes + t);
    }
    EXPECT_EQ(sion_close(sid), 1);
    for (int t = 0; t < ntasks; ++t) {
      const int one = open_rank(file, t);
      expect_content(one, t, bytes + t);
      EXPECT_EQ(sion_close(one), 1);
    }
  }
};

TEST_F(SerialFiles, EveryModeWritesThem) {
  for (const char* const mode : {"wb", "wb,posix", "wb,fileptr=stream", "wb,checksums=off", "wb,journal=off",
                                 "wb,durable", "wb,atomic", "wb,atomic,durable", "wb,buffer=0",
                                 "wb,compress=zstd", "wb,posix,compress=zstd,shuffle=8,checksums=off"}) {
    SCOPED_TRACE(mode);
    const std::string file = path("set");
    int nfiles = 3;
    const int sid = create(file, std::vector<long long>(7, 100), nfiles, 64, mode);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(nfiles, 3);
    EXPECT_EQ(sion_get_number_of_files(sid), 3);
    for (const int half : {0, 1})
      for (int t = 6; t >= 0; --t) {
        put_content(sid, t, half * 150, 150 + half * t);
        EXPECT_EQ(sion_get_filenumber(sid), std::min(t / 2, 2));
        if (t % 3 == 0) {
          EXPECT_EQ(sion_flush(sid), 1);
        }
      }
    EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
    expect_tasks(file, 7, 3, 300);
    EXPECT_FALSE(std::filesystem::exists(file + ".000003"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 3)
        << "something is left over";
  }
}

TEST_F(SerialFiles, AreThoseOfParallelTasks) {
  Program p;
  p.nfiles = 3;
  p.fsblksize = 64;
  p.requests = {100, 0, 200, 100, 1, 100, 64};
  for (int t = 0; t < 7; ++t) p.steps.push_back({{Step::write, p.requests[static_cast<size_t>(t)] * 2}});
  for (const char* const words : {"w", "w,checksums=off"}) {
    SCOPED_TRACE(words);
    const std::string file = path("set");
    write_in_parallel(posix_store(), file, p, 0, words);
    std::vector<std::vector<std::byte>> parallel;
    const auto read_files = [&] {
      std::vector<std::vector<std::byte>> files;
      for (const char* const suffix : {"", ".000001", ".000002"}) {
        const std::string bytes = bytes_of(file + suffix);
        const auto raw = std::as_bytes(std::span(bytes));
        files.push_back(without_extension({raw.begin(), raw.end()}));
      }
      return files;
    };
    parallel = read_files();
    int nfiles = 3;
    const int sid = create(file, {p.requests.begin(), p.requests.end()}, nfiles, 64, words, 0);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    for (int t = 0; t < 7; ++t)
      if (p.requests[static_cast<size_t>(t)] > 0)
        put_content(sid, t, 0, p.requests[static_cast<size_t>(t)] * 2);
    EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
    const auto serial = read_files();
    for (size_t f = 0; f < serial.size(); ++f) EXPECT_TRUE(serial[f] == parallel[f]) << "file " << f;
  }
}

TEST_F(SerialFiles, NumbersComeFromTheArgumentAndTheMode) {
  const auto files_of = [&](int nfiles, const char* mode, size_t ntasks = 4) {
    const int sid = create(path("a"), std::vector<long long>(ntasks, 10), nfiles, 64, mode);
    if (sid < 0) return -1;
    EXPECT_EQ(sion_close(sid), 1);
    return nfiles;
  };
  EXPECT_EQ(files_of(4, "w"), 4);
  EXPECT_EQ(files_of(1, "w"), 1);
  EXPECT_EQ(files_of(0, "w"), 1);
  EXPECT_EQ(files_of(-1, "w"), 1);
  EXPECT_EQ(files_of(1, "w,files=3"), 3);
  EXPECT_EQ(files_of(4, "w,files=1"), 1);
  EXPECT_EQ(files_of(4, "w,files=node"), 1);
  EXPECT_EQ(files_of(4, "w,files=auto"), 1);
  EXPECT_EQ(files_of(1, "w", 0), 1);
  EXPECT_EQ(files_of(5, "w"), -1);
  EXPECT_TRUE(last_error_has("5 physical files for 4 tasks")) << sheaf_last_error();
  EXPECT_EQ(files_of(1, "w,files=5"), -1);
  EXPECT_EQ(files_of(2, "w", 0), -1);
}

TEST_F(SerialFiles, ATablePlacesTheTasks) {
  std::ofstream(path("table")) << "1 0 1 # the third\n0\n";
  const std::string file = path("a");
  int nfiles = 1;
  const int sid = create(file, {10, 10, 10, 10}, nfiles, 64, ("w,files=@" + path("table")).c_str(), 0);
  ASSERT_GE(sid, 0) << sheaf_last_error();
  EXPECT_EQ(nfiles, 2);
  for (int t = 0; t < 4; ++t) put_content(sid, t, 0, 20 + t);
  EXPECT_EQ(sion_close(sid), 1);
  expect_tasks(file, 4, 2, 20);
  const int back = open(file);
  int size = 0;
  sion_int32* mapping = nullptr;
  EXPECT_EQ(sion_get_mapping(back, &size, &mapping, &nfiles), 1);
  EXPECT_EQ(std::vector<int>(mapping, mapping + 8), (std::vector<int>{1, 0, 0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(sion_close(back), 1);
  EXPECT_EQ(create(file, {10, 10, 10, 10}, nfiles, 64, ("w,files=@" + path("table")).c_str(), 5), -1);
  EXPECT_TRUE(last_error_has("needs the global ranks 0 to 3")) << sheaf_last_error();
  std::ofstream(path("table")) << "1 0 1";
  EXPECT_EQ(create(file, {10, 10, 10, 10}, nfiles, 64, ("w,files=@" + path("table")).c_str()), -1);
  EXPECT_TRUE(last_error_has("it places 3 tasks")) << sheaf_last_error();
}

TEST_F(SerialFiles, EachHasAStreamOfItsOwn) {
  const std::string file = path("a");
  FILE* fp = nullptr;
  int nfiles = 2;
  const int sid = create(file, {64, 64, 64}, nfiles, 64, "wb", 100, &fp);
  ASSERT_GE(sid, 0);
  FILE* const first = fp;
  for (const int t : {2, 0, 1, 2, 0}) {
    EXPECT_EQ(sion_seek_fp(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS, &fp), 1);
    EXPECT_EQ(fp == first, t < 1) << "task " << t;
    const auto some = content(t, static_cast<int64_t>(sion_get_bytes_written(sid)), 30);
    EXPECT_EQ(std::fwrite(some.data(), 1, some.size(), fp), some.size());
  }
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  const int back = open(file);
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(sion_seek(back, t, 0, 0), 1);
    expect_content(back, t, t == 1 ? 30 : 60);
  }
  EXPECT_EQ(sion_close(back), 1);
}

TEST_F(SerialFiles, RecordsAreFoundAgain) {
  const std::string file = path("a");
  int nfiles = 2;
  const int sid = create(file, {20, 20, 20, 20}, nfiles, 1, "wb,keyval");
  for (const int t : {3, 0, 2, 1, 3}) {
    EXPECT_EQ(select(sid, t), 1);
    EXPECT_EQ(put(sid, 7, "of task " + std::to_string(t)), 9u);
  }
  EXPECT_EQ(sion_close(sid), 1);
  const int back = open(file);
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(select(back, t), 1);
    EXPECT_EQ(get(back, 7), "of task " + std::to_string(t));
  }
  EXPECT_EQ(get(back, 7), "of task 3");
  EXPECT_EQ(sion_close(back), 1);
}

TEST_F(SerialFiles, AreAppendedTo) {
  const std::string file = path("a");
  int nfiles = 3;
  int sid = create(file, {10, 10, 10}, nfiles, 64, "wb");
  for (int t = 0; t < 3; ++t) put_content(sid, t, 0, 100);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(file, nullptr, "append");
  ASSERT_GE(sid, 0) << sheaf_last_error();
  EXPECT_EQ(sion_get_number_of_files(sid), 3);
  for (int t = 2; t >= 0; --t) put_content(sid, t, 100, t);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  expect_tasks(file, 3, 3, 100);
}

TEST_F(SerialFiles, WhatWasFlushedIsFoundWithoutAClose) {
  for (const int first_rank : {0, 100, -1}) {
    SCOPED_TRACE(first_rank);
    const std::string file = path("a");
    int nfiles = 3;
    const int sid = create(file, {10, 10, 10}, nfiles, 64, "wb", first_rank);
    for (int t = 0; t < 3; ++t) put_content(sid, t, 0, 100 + t);
    EXPECT_EQ(sion_flush(sid), 1);
    expect_tasks(file, 3, 3, 100);
    EXPECT_EQ(sion_close(sid), 1);
    expect_tasks(file, 3, 3, 100);
  }
}

TEST_F(SerialFiles, OfAFailedOpenNothingIsLeft) {
  const std::string file = path("a");
  std::filesystem::create_directories(file + ".000002/in-the-way");
  int nfiles = 3;
  EXPECT_EQ(create(file, {10, 10, 10}, nfiles, 64, "wb"), -1);
  EXPECT_TRUE(last_error_has(file + ".000002")) << sheaf_last_error();
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".000001"));
}

}  // namespace
}  // namespace sheaf::test::serial_files_test
