// Calls that write and read key-value records.
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"
#include "api/sion/opening.hpp"
#include "multifile/keyval/keyval_writer.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

void require_keyval(bool keyval) {
  if (!keyval)
    throw Error(Code::wrong_mode,
                "the multifile holds no key-value records; it has to be written with the word keyval");
}

// Returns the byte order of the current physical file. The files of a set may have different byte orders.
ByteOrder metadata_order(SionHandle& handle) {
  if (const Multifile* const all = handle.reads->whole())
    return all->file_of(handle.reads->task()).header.metadata_order;
  return handle.facts().metadata_order;
}

// Returns the records of the current task of a handle.
KeyvalIndex& find_index(SionHandle& handle) {
  const int task = handle.task();
  if (!handle.keys.indexes) {
    ReadStream& stream = get_reader(handle);
    require_keyval(handle.facts().keyval);
    if (task < 0 || handle.ntasks() == 0)
      throw Error(Code::out_of_range, "the handle gives access to no task");
    handle.keys.indexes = std::make_unique<KeyvalReader>(stream);
  }
  if (KeyvalIndex* known = handle.keys.indexes->find(task)) return *known;
  return handle.keys.indexes->add(task, metadata_order(handle));
}

KeyvalIndex& get_index(SionHandle& handle) {
  if (!handle.keys.current) [[unlikely]]
    handle.keys.current = &find_index(handle);
  return *handle.keys.current;
}

// Runs body(index, hides) for the current task, and returns its result as guarded() does. hides(key) returns
// whether the handle is a duplicate for another key.
template <class Result, class Body>
Result on_keys(const char* function, int sid, Result failure, Body&& body) {
  SionHandle* const h = find_handle(sid);
  const auto task = [h] { return h ? h->task() : -1; };
  return guarded(function, task, failure, [&] {
    SionHandle& handle = h && !h->program.plain ? *h : get_handle(sid);
    const auto hides = [&handle](uint64_t key) { return handle.keys.only && *handle.keys.only != key; };
    return body(get_index(handle), hides);
  });
}

[[gnu::noinline]] size_t write_key_slowly(const void* data, uint64_t key, size_t size, size_t nitems,
                                          int sid) {
  constexpr const char* function = "sion_fwrite_key";
  SionHandle* const h = find_handle(sid);
  const size_t failure = h && size > 0 ? static_cast<size_t>(-1) : 0;
  return guarded(function, h ? h->task() : -1, failure, [&]() -> size_t {
    SionHandle& handle = h ? *h : get_handle(sid);
    begin_call(handle);
    if (size == 0)
      throw Error(Code::invalid_argument,
                  "items of size 0; an empty record is written with size 1 and no items");
    WriteStream& stream = get_writer(handle);
    const FileFacts facts = handle.facts();
    require_keyval(facts.keyval);
    size_t bytes;
    if (__builtin_mul_overflow(size, nitems, &bytes) ||
        bytes > static_cast<size_t>(INT64_MAX) - record_header_bytes)
      throw Error(Code::invalid_argument, "a record of " + std::to_string(nitems) + " items of " +
                                              std::to_string(size) + " bytes exceeds 2^63 bytes");
    if (bytes > 0) require(data, "data");
    const std::span value(static_cast<const std::byte*>(data), bytes);
    const RecordHead head = record_head(facts.metadata_order, key, value.size());
    handle.append(head, value, [&] {
      handle.settle();
      stream.write_filling(head, value);
    });
    report_overrun(function, handle);
    return nitems;
  });
}

}  // namespace

size_t sion_fwrite_key(const void* data, uint64_t key, size_t size, size_t nitems, int sid) {
  if (SionHandle* h = find_handle(sid)) [[likely]] {
    size_t bytes;
    if (size != 0 && data && !__builtin_mul_overflow(size, nitems, &bytes) &&
        put_record(*h->windows.out_records, key, data, bytes)) [[likely]]
      return nitems;
  }
  return write_key_slowly(data, key, size, nitems, sid);
}

size_t sion_fread_key(void* data, uint64_t key, size_t size, size_t nitems, int sid) {
  return on_keys("sion_fread_key", sid, size_t{0}, [&](KeyvalIndex& index, auto hides) -> size_t {
    if (!data || size == 0 || nitems == 0 || hides(key)) return 0;
    return index.read(key, static_cast<std::byte*>(data), size, nitems);
  });
}

int sion_fread_key_iterator_reset(int sid) {
  return on_keys("sion_fread_key_iterator_reset", sid, SION_NOT_SUCCESS,
                 [](KeyvalIndex& index, auto) { index.restart_records(); });
}

int sion_fread_key_iterator_next(int sid, uint64_t* key, size_t* size) {
  return on_keys("sion_fread_key_iterator_next", sid, SION_NOT_SUCCESS, [&](KeyvalIndex& index, auto hides) {
    require(key, "key");
    require(size, "size");
    auto record = index.next_record();
    while (record && hides(record->key)) record = index.next_record();
    if (!record) return SION_NOT_SUCCESS;
    *key = record->key;
    *size = static_cast<size_t>(record->length);
    return SION_SUCCESS;
  });
}

int sion_seek_key(int sid, uint64_t key, int entrynum, sion_int64 posinentry) {
  return on_keys("sion_seek_key", sid, SION_NOT_SUCCESS, [&](KeyvalIndex& index, auto hides) {
    bool found = false;
    if (hides(key)) {
      // The duplicate treats other keys as absent.
    } else if (entrynum == SION_ABSOLUTE_POS) {
      found = index.seek_joined(key, posinentry);
    } else if (entrynum != SION_CURRENT_BLK) {
      found = index.seek_record(key, entrynum, posinentry);
    } else {
      found = posinentry == SION_CURRENT_POS ? index.settle(key) : index.seek_in_record(key, posinentry);
    }
    if (!found)
      throw Error(Code::out_of_range, "key " + std::to_string(key) + " has no byte at position (" +
                                          std::to_string(entrynum) + ", " + std::to_string(posinentry) + ")");
  });
}

int sion_key_full_scan(int sid) {
  return on_keys("sion_key_full_scan", sid, SION_NOT_SUCCESS,
                 [](KeyvalIndex& index, auto) { index.scan_all(); });
}

int sion_key_list_iterator_reset(int sid) {
  return on_keys("sion_key_list_iterator_reset", sid, SION_NOT_SUCCESS,
                 [](KeyvalIndex& index, auto) { index.restart_keys(); });
}

int sion_key_list_iterator_next(int sid, uint64_t* keyptr) {
  return on_keys("sion_key_list_iterator_next", sid, SION_NOT_SUCCESS, [&](KeyvalIndex& index, auto hides) {
    require(keyptr, "keyptr");
    auto key = index.next_key();
    while (key && hides(*key)) key = index.next_key();
    *keyptr = key.value_or(0);
    return key ? SION_SUCCESS : SION_NOT_SUCCESS;
  });
}

int sion_key_get_stat(int sid, uint64_t key, sion_key_stat_t* stat) {
  return on_keys("sion_key_get_stat", sid, SION_NOT_SUCCESS, [&](KeyvalIndex& index, auto hides) {
    require(stat, "stat");
    const auto known = hides(key) ? std::nullopt : index.statistics(key);
    *stat = {key, known ? known->records : 0, known ? known->bytes : 0};
    return known ? SION_SUCCESS : SION_NOT_SUCCESS;
  });
}
