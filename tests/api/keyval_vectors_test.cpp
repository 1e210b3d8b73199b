// Reads key-value multifiles of another implementation, in both byte orders, by key. The multifiles are in
// $SHEAF_VECTORS, by default ../shared/vectors beside the repository. The file siondump.txt beside each
// multifile lists its records.
#include <cstdlib>
#include <map>

#include "api/api_fixture.hpp"

namespace sheaf::test::keyval_vectors_test {
namespace {

struct VectorRecord {
  uint64_t key;
  size_t size;
};

class KeyvalVectors : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    const char* set = std::getenv("SHEAF_VECTORS");
    directory = set ? std::filesystem::path(set)
                    : std::filesystem::path(__FILE__).parent_path() / "../../../shared/vectors";
    if (!std::filesystem::is_directory(directory)) GTEST_SKIP() << "no golden files in " << directory;
  }

  // Returns the records of every task, parsed from lines "Task 00: [00:k=<7>,size=10] [01:...". The dump
  // prints keys as signed numbers.
  std::map<int, std::vector<VectorRecord>> expected(const std::string& name) const {
    std::map<int, std::vector<VectorRecord>> tasks;
    std::ifstream dump(directory / name / "siondump.txt");
    for (std::string line; std::getline(dump, line);) {
      int task;
      if (std::sscanf(line.c_str(), "Task %d: [", &task) != 1) continue;
      for (size_t at = 0; (at = line.find(":k=<", at)) != std::string::npos; ++at) {
        long long key;
        size_t size;
        if (std::sscanf(line.c_str() + at, ":k=<%lld>,size=%zu]", &key, &size) == 2)
          tasks[task].push_back({static_cast<uint64_t>(key), size});
      }
    }
    return tasks;
  }

  // Returns the value of the i-th record of a task.
  static std::string value(const VectorRecord& record, size_t i) {
    std::string bytes;
    for (size_t q = 0; q < record.size; ++q)
      bytes += static_cast<char>(17 * ((record.key & 255) + i) + 5 * q + q / 251);
    return bytes;
  }

  static std::string get(int sid, uint64_t key) {
    std::string all;
    std::string piece(100, '?');
    while (const size_t n = sion_fread_key(piece.data(), key, 1, piece.size(), sid)) all.append(piece, 0, n);
    return all;
  }

  static void check_task(int sid, const std::vector<VectorRecord>& records) {
    std::map<uint64_t, std::string> by_key;
    uint64_t key = 0;
    size_t size = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(sion_fread_key_iterator_next(sid, &key, &size), 1);
      EXPECT_EQ(key, records[i].key);
      EXPECT_EQ(size, records[i].size);
      by_key[key] += value(records[i], i);
    }
    EXPECT_EQ(sion_fread_key_iterator_next(sid, &key, &size), 0);
    for (const auto& [k, bytes] : by_key) {
      EXPECT_EQ(sion_seek_key(sid, k, SION_ABSOLUTE_POS, 0),
                !bytes.empty());  // the iterator has read all records
      EXPECT_EQ(get(sid, k), bytes) << "key " << k;
      sion_key_stat_t stat{};
      EXPECT_EQ(sion_key_get_stat(sid, k, &stat), 1);
      EXPECT_EQ(stat.total_size, static_cast<sion_int64>(bytes.size()));
    }
  }

  std::filesystem::path directory;
};

TEST_F(KeyvalVectors, HoldTheirRecords) {
  for (const std::string name : {"keyval", "keyval2", "be_keyval"}) {
    SCOPED_TRACE(name);
    const std::string file = directory / name / (name + ".sion");
    const auto tasks = expected(name);
    ASSERT_GE(tasks.size(), 3u);
    for (const char* mode : {"rb", "rb,posix", "rb,buffer=0"}) {
      const int sid = open(file, nullptr, mode);
      ASSERT_GE(sid, 0) << sheaf_last_error();
      for (const auto& [task, records] : tasks) {
        EXPECT_EQ(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
        check_task(sid, records);
        const int one = open_rank(file, task, nullptr, mode);
        check_task(one, records);
        EXPECT_EQ(sion_close(one), 1);
      }
      EXPECT_EQ(sion_close(sid), 1);
    }
  }
}

TEST_F(KeyvalVectors, ADamagedOneIsRefusedAtItsFirstRecord) {
  const std::string file = directory / "damaged/kv_badlen.sion";
  for (const int sid : {open(file), open_rank(file, 0)}) {
    ASSERT_GE(sid, 0);
    EXPECT_EQ(sion_key_full_scan(sid), 0);
    EXPECT_TRUE(last_error_has("kv_badlen.sion': task 0, key-value record at byte 0")) << sheaf_last_error();
    uint64_t key;
    size_t size;
    EXPECT_EQ(sion_fread_key_iterator_next(sid, &key, &size), 0);
    EXPECT_EQ(get(sid, 7), "");
    EXPECT_TRUE(last_error_has("1000000 bytes"));
    EXPECT_EQ(sion_close(sid), 1);
  }
}

}  // namespace
}  // namespace sheaf::test::keyval_vectors_test
