// keyval_fixture: a small multifile of key-value records, and short forms of the calls that write and read a
// record.
#pragma once

#include "api/api_fixture.hpp"

namespace sheaf::test {

inline constexpr size_t key_error = static_cast<size_t>(-1);

class Keyval : public Api {
 protected:
  static size_t put(int sid, uint64_t key, const std::string& value) {
    return sion_fwrite_key(value.data(), key, 1, value.size(), sid);
  }
  // Reads up to `most` items of a key, each `size` bytes long.
  static std::string get(int sid, uint64_t key, size_t most = 1000, size_t size = 1) {
    std::string value(most * size, '?');
    value.resize(size * sion_fread_key(value.data(), key, size, most, sid));
    return value;
  }
  static int select(int sid, int task) { return sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS); }

  // Writes a multifile with the following keys and values, and returns its path.
  //   task 0: 7 "abc", 2^64-1 "x", 7 "", 7 "defgh", 9 ""
  //   task 1: none
  //   task 2: 7 "two"
  std::string records(const char* mode = "wb,keyval", long long chunk = 20) {
    const std::string file = path("records.sion");
    FILE* fp = nullptr;
    const int sid = create(file, {chunk, chunk, chunk}, 1,
                           std::string(mode).find("posix") == std::string::npos ? &fp : nullptr, mode);
    EXPECT_EQ(put(sid, 7, "abc"), 3u);
    EXPECT_EQ(select(sid, 2), 1);
    EXPECT_EQ(put(sid, 7, "two"), 3u);
    EXPECT_EQ(select(sid, 0), 1);
    EXPECT_EQ(put(sid, UINT64_MAX, "x"), 1u);
    EXPECT_EQ(put(sid, 7, ""), 0u);
    EXPECT_EQ(put(sid, 7, "defgh"), 5u);
    EXPECT_EQ(sion_fwrite_key(nullptr, 9, 1, 0, sid), 0u);
    EXPECT_EQ(sion_close(sid), 1);
    return file;
  }
};

}  // namespace sheaf::test
