// keyval_model: random key-value records and the expected results of reading them by key, kept in plain maps.
// Independent of the search in src/multifile.
#pragma once

#include <map>

#include "multifile/keyval/keyval_index.hpp"
#include "support/programs.hpp"

namespace sheaf::test {

using Bytes = std::vector<std::byte>;

struct Record {
  uint64_t key;
  Bytes value;
};
using Records = std::vector<Record>;  // records of one task, in write order

struct KeyProgram {
  int32_t fsblksize = 1;
  int64_t buffer = 0;
  std::vector<int64_t> chunks;  // chunks of each task
  std::vector<Records> tasks;
  int ntasks() const { return static_cast<int>(chunks.size()); }
};

inline KeyProgram random_records(uint64_t seed) {
  Random random(seed);
  KeyProgram p;
  p.fsblksize = static_cast<int32_t>(random.pick<int64_t>({1, 1, 7, 512}));
  p.buffer = random.pick<int64_t>({0, 1, 13, 300, 5000, 128 << 10});
  for (int64_t t = 1 + random.below(5); t > 0; --t) {
    p.chunks.push_back(random.pick<int64_t>({1, 3, 15, 16, 17, 64, 1000, 100000}));
    const int64_t distinct = random.pick<int64_t>({1, 3, 10, 1000});
    Records records;
    for (int64_t n = random.below(80); n > 0; --n) {
      const auto key =
          static_cast<uint64_t>(random.below(distinct)) * (random.chance(2) ? 1 : 0x123456789abcdef1u);
      const int64_t size = random.chance(4)    ? 0
                           : random.chance(8)  ? 1000 + random.below(2000)
                           : random.chance(60) ? std::min<int64_t>(70000, 5000 * p.chunks.back())
                                               : random.below(60);
      records.push_back({key, content(static_cast<int64_t>(key % 250), std::ssize(records), size)});
    }
    p.tasks.push_back(std::move(records));
  }
  return p;
}

// Expected results of reading by key.
class KeyModel {
 public:
  explicit KeyModel(const Records& records) : records_(records) {
    for (const Record& r : records) {
      if (!keys_.contains(r.key)) order_.push_back(r.key);
      keys_[r.key].values.push_back(r.value);
    }
  }

  // Performs one random call on the index and on the model, and compares the results.
  void step(multifile::KeyvalIndex& index, Random& random) {
    const uint64_t key = records_.empty() || random.chance(20)
                             ? 4711
                             : records_[static_cast<size_t>(random.below(std::ssize(records_)))].key;
    KeyCursor* k = keys_.contains(key) ? &keys_[key] : nullptr;
    const int64_t any = random.below(70);
    switch (random.below(10)) {
      case 0:
        return check_seek(k, random.below(5) - 1, any,
                          [&](int64_t r, int64_t o) { return index.seek_record(key, r, o); });
      case 1: {
        const int64_t record = k ? std::ssize(k->values) : 1;
        return check_seek(k, random.below(record), any % 3,
                          [&](int64_t r, int64_t o) { return index.seek_record(key, r, o); });
      }
      case 2:
        // A position after the end of a record belongs to the next record.
        return check_seek(k,
                          !k ? 0
                          : k->offset == k->length(k->record) && k->record + 1 < std::ssize(k->values)
                              ? k->record + 1
                              : k->record,
                          any, [&](int64_t, int64_t o) { return index.seek_in_record(key, o); });
      case 3:
        return check_joined(k, any * random.below(10) - 1,
                            [&](int64_t o) { return index.seek_joined(key, o); });
      case 4:
        return require(index.settle(key) == (k && k->settle()), "settle");
      case 5:
        return check_iterator(index, random);
      default:
        return check_read(index, key, k, static_cast<size_t>(1 + random.below(9)),
                          static_cast<size_t>(random.below(300)));
    }
  }

  void check_keys(multifile::KeyvalIndex& index) const {
    index.scan_all();
    index.restart_keys();
    for (const uint64_t key : order_) {
      require(index.next_key() == key, "order of the keys");
      const auto found = index.statistics(key);
      require(found && found->records == std::ssize(keys_.at(key).values) &&
                  found->bytes == keys_.at(key).total(),
              "statistics");
    }
    require(!index.next_key(), "too many keys");
  }

 private:
  struct KeyCursor {
    std::vector<Bytes> values;
    int64_t record = 0;
    int64_t offset = 0;

    int64_t length(int64_t r) const { return std::ssize(values[static_cast<size_t>(r)]); }
    int64_t total() const {
      int64_t sum = 0;
      for (const Bytes& v : values) sum += std::ssize(v);
      return sum;
    }
    bool settle() {
      for (; record + 1 < std::ssize(values) && offset == length(record); offset = 0) ++record;
      return offset < length(record);
    }
  };

  template <class Seek>
  static void check_seek(KeyCursor* k, int64_t record, int64_t offset, Seek&& seek) {
    const bool there = k && record >= 0 && record < std::ssize(k->values) && offset < k->length(record);
    require(seek(record, offset) == there, "seek");
    if (!there) return;
    k->record = record;
    k->offset = offset;
  }

  template <class Seek>
  static void check_joined(KeyCursor* k, int64_t offset, Seek&& seek) {
    const bool there = k && offset >= 0 && offset < k->total();
    require(seek(offset) == there, "seek in all values");
    if (!there) return;
    k->record = 0;
    for (; offset >= k->length(k->record); ++k->record) offset -= k->length(k->record);
    k->offset = offset;
  }

  static void check_read(multifile::KeyvalIndex& index, uint64_t key, KeyCursor* k, size_t size,
                         size_t items) {
    Bytes found(size * items);
    const size_t got = index.read(key, found.data(), size, items);
    if (!k || !k->settle()) return require(got == 0, "nothing to be read");
    const auto rest = static_cast<size_t>(k->length(k->record) - k->offset);
    require(got == std::min(items, rest / size), "number of items");
    const auto* expected = k->values[static_cast<size_t>(k->record)].data() + k->offset;
    require(std::equal(expected, expected + got * size, found.begin()), "value");
    k->offset += static_cast<int64_t>(got * size);
  }

  void check_iterator(multifile::KeyvalIndex& index, Random& random) {
    if (random.chance(5)) {
      index.restart_records();
      next_ = 0;
      seen_.clear();
    }
    for (int64_t n = random.below(20); n > 0; --n) {
      const auto found = index.next_record();
      require(found.has_value() == (next_ < records_.size()), "end of the iterator");
      if (!found) return;
      const Record& r = records_[next_++];
      require(found->key == r.key && found->length == std::ssize(r.value), "record of the iterator");
      keys_[r.key].record = seen_[r.key]++;
      keys_[r.key].offset = 0;
    }
  }

  const Records& records_;
  std::map<uint64_t, KeyCursor> keys_;
  std::vector<uint64_t> order_;
  size_t next_ = 0;                   // position of the iterator
  std::map<uint64_t, int64_t> seen_;  // number of records of each key that the iterator has passed
};

}  // namespace sheaf::test
